// Runs in a blank page behind browser_page.js: connects it to a Reactor runtime as a web page would, with fetch,
// RTCPeerConnection and JSON text (v0) on the channels.
let base, control, data, waiters = [];
const T = {steps: {}, messages: {}, statuses: []};
const step = k => T.steps[k] = Math.round(performance.now() - cfg.t0);

async function api(method, path, body, headers) {
  const raw = body instanceof Blob, options = {method, headers: {'Reactor-API-Version': '1', ...headers}};
  if (body !== undefined) { options.body = raw ? body : JSON.stringify(body); if (!raw) options.headers['Content-Type'] = 'application/json'; }
  const r = await fetch(new URL(path, base), options);
  T.statuses.push([method, path.replace(/[0-9a-f-]{32,36}|\d{4}/g, '*'), r.status]);
  if (r.status >= 400) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`);
  return r;
}
const json = async (...x) => (await api(...x)).json();

function arrived(channel, text) {
  if (typeof text !== 'string') { R.errors.push('binary on ' + channel); return; }
  const m = JSON.parse(text), type = m.data?.type ?? m.method ?? m.event ?? m.type;
  T.messages[type] = (T.messages[type] ?? 0) + 1;
  if (type === 'input_report') T.input = m.data.data;
  waiters = waiters.filter(w => !w(m));
}
// The first message from now on that fits.
const next = (fits, what) => new Promise((ok, no) => {
  const timer = setTimeout(() => no(new Error('no ' + what)), 15000);
  waiters.push(m => fits(m) && (clearTimeout(timer), ok(m), true));
});
const opened = ch => new Promise((ok, no) => { ch.onopen = ok; ch.onerror = e => no(new Error('channel: ' + e)); });
const say = (scope, type, body, uploads) => data.send(JSON.stringify({scope, data: {type, data: body, uploads}}));
function command(type, body, reply, uploads) {
  const got = next(m => m.scope === 'application' && m.data.type === reply, reply);
  say('application', type, body, uploads);
  return got.then(m => m.data.data);
}
function request(method, body) {
  const request_id = 'r' + Math.random(), got = next(m => m.request_id === request_id, method);
  control.send(JSON.stringify({type: 'request', method, request_id, data: body}));
  return got;
}
const notify = (event, body) => control.send(JSON.stringify({type: 'notification', event, data: body}));

async function connectReactor(url) {
  base = url;
  const d = await json('POST', '/start_session', {});
  T.descriptor = {state: d.state, model: d.model, tracks: d.capabilities.tracks.length};
  const root = `/sessions/${d.session_id}/transport/webrtc/`;
  const ice = await json('GET', root + 'ice_servers');
  const {connection_id, track_map} = await json('POST', root + 'connections', {});
  pc.setConfiguration({iceServers: ice.ice_servers.map(s => ({urls: s.uris})), bundlePolicy: 'max-bundle'});
  const mine = `${root}connections/${connection_id}/`, m = media(), mapping = [];
  const sections = Object.entries(track_map).map(([name, t]) => {
    const sends = t.direction === 'in', tr = pc.addTransceiver(sends ? m[t.kind] : t.kind, {direction: sends ? 'sendonly' : 'recvonly'});
    return {name, kind: t.kind, direction: sends ? 'sendonly' : 'recvonly', tr};
  });
  data = pc.createDataChannel('data'); control = pc.createDataChannel('control');
  data.onmessage = e => arrived('data', e.data); control.onmessage = e => arrived('control', e.data);
  const open = Promise.all([opened(data), opened(control)]), posts = [];
  const candidate = c => api('POST', mine + 'ice_candidates', {candidates: c ? [{candidate: c.candidate, sdp_mid: c.sdpMid, sdp_mline_index: c.sdpMLineIndex}] : [], is_final: !c});
  pc.onicecandidate = e => posts.push(candidate(e.candidate));
  await pc.setLocalDescription();
  for (const s of sections) mapping.push({name: s.name, kind: s.kind, direction: s.direction, mid: s.tr.mid});
  await api('POST', mine + 'sdp_params', {sdp_offer: pc.localDescription.sdp, client_info: {sdk_version: '1.0.0', sdk_type: 'js'}, track_mapping: mapping});
  let answer;
  while ((answer = await api('GET', mine + 'sdp_params')).status === 202) await new Promise(ok => setTimeout(ok, 20));
  await pc.setRemoteDescription({type: 'answer', sdp: (await answer.json()).sdp_answer});
  await open; step('open');
  await Promise.all(posts);
  say('runtime', 'ping', {});
  for (const s of sections) if (s.direction === 'recvonly') notify('resume_track', {name: s.name});
  T.publish = [];
  for (const s of sections) if (s.direction === 'sendonly') T.publish.push((await request('publish_track', {name: s.name})).error?.code ?? 'ok');
}

// The rest of what a page does: commands, the schema, an upload.
async function workReactor() {
  T.echo = await command('echo', {payload: 'grüße'}, 'echo_reply');
  T.video = await command('set_video', {width: 320, height: 180, fps: 30, source: 'pattern'}, 'video_set');
  const schema = next(x => x.scope === 'runtime' && x.data.type === 'modelSchema', 'schema');
  say('runtime', 'requestSchema', {});
  T.schema = Object.keys((await schema).data.data.paths ?? {}).length;
  const sid = '00000000-0000-0000-0000-000000000000', blob = new Blob(['x'.repeat(100000)]);
  const slot = await json('POST', `/sessions/${sid}/uploads`, {name: 'page.bin', mime_type: 'application/x-test', size: blob.size});
  await api('PUT', slot.presigned_url, blob, {'Content-Type': 'application/x-test'});
  const image = {upload_id: slot.presigned_id, name: 'page.bin', mime_type: 'application/x-test', size: blob.size};
  T.upload = await command('set_image', {}, 'image_info', {image});
  step('worked');
}

// A clip by the playlist, segments into a media source, played; how far and how large.
async function playClip(seconds) {
  const clip = next(x => x.scope === 'runtime' && /^clip(Ready|Failed)$/.test(x.data.type), 'clip');
  say('runtime', 'requestClip', {duration_seconds: seconds});
  const c = (await clip).data;
  if (c.type !== 'clipReady') throw new Error(JSON.stringify(c));
  let list;
  while ((list = await api('GET', c.data.playlist_url)).status === 202) await new Promise(ok => setTimeout(ok, 200));
  const text = await list.text(), lines = text.split('\n'), from = u => new URL(u, new URL(c.data.playlist_url, base));
  const urls = [/URI="([^"]+)"/.exec(text)[1], ...lines.filter(l => l && l[0] !== '#')];
  const source = new MediaSource(), v = document.createElement('video');
  v.muted = true; v.src = URL.createObjectURL(source);
  await new Promise(ok => source.onsourceopen = ok);
  const parts = await Promise.all(urls.map(async u => (await fetch(from(u))).arrayBuffer()));
  const head = new TextDecoder('latin1').decode(parts[0]);
  const types = ['video/mp4; codecs="vp09.00.10.08, opus"', 'video/mp4; codecs="vp8, opus"', 'video/mp4; codecs="vp09.00.10.08"'];
  T.clipType = types.find(t => MediaSource.isTypeSupported(t) && head.includes(t.includes('vp8') ? 'vp08' : 'vp09') && head.includes('Opus') === t.includes('opus'));
  const buffer = source.addSourceBuffer(T.clipType);
  for (const p of parts) { await new Promise((ok, no) => { buffer.onupdateend = ok; buffer.onerror = () => no(new Error('append')); buffer.appendBuffer(p); }); }
  source.endOfStream();
  v.currentTime = v.buffered.start(0);
  v.playbackRate = 4;
  await v.play();
  await new Promise((ok, no) => { v.onended = ok; v.onerror = () => no(new Error(v.error.message)); setTimeout(() => no(new Error('clip stands at ' + v.currentTime)), 20000); });
  const q = v.getVideoPlaybackQuality();
  T.clip = {width: v.videoWidth, height: v.videoHeight, seconds: Math.round(v.buffered.end(0) * 100) / 100, ranges: v.buffered.length, frames: q.totalVideoFrames};
}

async function endReactor() {
  const closed = new Promise(ok => { data.onclose = () => ok('closed'); setTimeout(() => ok('open'), 10000); });
  await api('POST', '/stop_session');
  T.channelAfterStop = await closed;
  R.reactor = T;
}
