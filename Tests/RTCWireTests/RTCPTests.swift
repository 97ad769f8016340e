import RTCWire
