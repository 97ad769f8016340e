/// The help texts.
enum Help {
    static let overview = """
        Reactor: stream from a real-time world model and steer it.

        USAGE  reactor COMMAND [OPTIONS]

        COMMANDS
          demo             see it run: a model, a server and a client in one process
          serve            run a local model server for clients of any kind
          watch            receive a video track, show its state, keep the last frame
          push             send pictures and sound: a test pattern, a file or a pipe
          send NAME [JSON] send a command and print the reply
          upload FILE      upload a file, and pass it to a command
          clip SECONDS FILE  keep the last seconds of the session as a file
          record FILE      keep a session as a file
          schema           print the model's commands as an OpenAPI document
          help [COMMAND]   this text, or a command's

        \(connection)

        EXIT CODES  0 done; 1 failed, with the error's code and text on standard error; 2 the command line is wrong
        """

    static let connection = """
        CONNECTION
          --url URL        the API (REACTOR_API_URL); default https://api.reactor.inc, or http://localhost:8080 with --local
          --local          the server is a local runtime (REACTOR_LOCAL=1); implied by a URL on this machine
          --hosted         a URL on this machine speaks the hosted protocol nevertheless
          --model NAME     owner/name (REACTOR_MODEL); a local runtime needs none
          --session ID     join a session instead of creating one; it is then left running
          --jwt TOKEN      a token; the hosted API takes REACTOR_JWT as well, or REACTOR_API_KEY, which is exchanged for one
          --verbose        log what happens to standard error
        """

    static let watch = """
        Receives a video track and prints a summary at the end.

        USAGE  reactor watch [OPTIONS]

        OPTIONS
          --track NAME     the track; default: the only video track the model sends
          --seconds N      how long, from the first frame; default 10; 0 means until interrupted
          --snapshot FILE  write the last frame as PNG
          --terminal       show the stream in the terminal as colour half blocks
          --json           print one JSON object instead of the summary, and no status line

        \(connection)

        The status line (on a terminal) shows state, frame rate, size, bitrate and the parts of the latency: round trip,
        assembly (first packet to decoded picture) and decoding. Interrupting ends it with a summary.
        """

    static let send = """
        Sends one command and prints its reply as JSON; null when the model acknowledged without a message.

        USAGE  reactor send NAME [JSON] [OPTIONS]

          reactor send set_prompt '{"prompt": "a mountain landscape"}' --url http://127.0.0.1:8101

        JSON is an object with the command's arguments; '-' reads it from standard input.

        \(connection)
        """

    static let push = """
        Publishes a track and sends frames on it: a moving test pattern with a tone, or raw frames and samples from a file or a pipe.

        USAGE  reactor push [OPTIONS]

          ffmpeg -re -i in.mp4 -f rawvideo -pix_fmt bgra -s 640x360 - | reactor push --input - --size 640x360

        VIDEO
          --track NAME     the track; default: the only video track the model receives
          --size WxH       size of the frames; default 640x360
          --fps N          frames per second; default 30. A pipe that is slower is sent as it comes
          --input FILE     raw frames without padding, one after the other; '-' is standard input
          --format F       how they are laid out: bgra (default), rgba, i420, nv12

        AUDIO
          --audio-track NAME   the track; default: the only audio track the model receives, with the test pattern or an input
          --audio-input FILE   16-bit little-endian samples, channels interleaved; '-' is standard input
          --audio-rate N       8000, 16000, 24000, 32000, 44100 or 48000 (default)
          --audio-channels N   1 (default) or 2

        OPTIONS
          --seconds N      how long; default 0: until the input ends or it is interrupted
          --json           print one JSON object instead of the summary, and no status line

        \(connection)
        """

    static let upload = """
        Uploads a file to the session and prints its reference as JSON. Uploads live as long as their session.

        USAGE  reactor upload FILE [OPTIONS]

          reactor upload photo.png --command set_image --argument image --url http://127.0.0.1:8080

        OPTIONS
          --command NAME   then send this command with the file, and add its reply to the output
          --argument NAME  the command's parameter that takes the file
          --data JSON      an object with the command's other arguments
          --name NAME      upload it under another name
          --type TYPE      its MIME type; default: what the name's extension says
          --json           add the status and the time it took; errors become JSON as well; no progress bar

        \(connection)
        """

    static let clip = """
        Writes the last seconds of the session to an MP4 file.

        USAGE  reactor clip SECONDS FILE [OPTIONS]

        With --session the clip is of what that session has just shown. Without it a session is started, and runs for as long
        as the clip is to be.

        OPTIONS
          --timeout N      give up when the clip is not ready N seconds after the time that the platform predicted
          --json           print one JSON object, and no progress bar

        \(connection)
        """

    static let record = """
        Writes a session, from its beginning, to an MP4 file.

        USAGE  reactor record FILE [OPTIONS]

        OPTIONS
          --seconds N      how long to let it run, from the first frame; default 10; 0 means until interrupted
          --timeout N      give up when the recording is not ready N seconds after the time that the platform predicted
          --json           print one JSON object, and no progress bar

        \(connection)

        Interrupting ends the recording and writes the file; interrupting once more ends the command.
        """

    static let schema = """
        Prints the model's commands, messages and tracks as an OpenAPI document.

        USAGE  reactor schema [OPTIONS]

        \(connection)
        """

    static func page(_ command: String?) -> String {
        switch command {
        case "demo": demo
        case "serve": serve
        case "watch": watch
        case "push": push
        case "send": send
        case "upload": upload
        case "clip": clip
        case "record": record
        case "schema": schema
        default: overview
        }
    }
}
