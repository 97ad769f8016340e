/// The help texts.
enum Help {
    static let overview = """
        Reactor: stream from a real-time world model and steer it.

        USAGE  reactor COMMAND [OPTIONS]

        COMMANDS
          watch            receive a video track, show its state, keep the last frame
          send NAME [JSON] send a command and print the reply
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
          --jwt TOKEN      a token (REACTOR_JWT); otherwise REACTOR_API_KEY is exchanged for one
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

    static let schema = """
        Prints the model's commands, messages and tracks as an OpenAPI document.

        USAGE  reactor schema [OPTIONS]

        \(connection)
        """

    static func page(_ command: String?) -> String {
        switch command {
        case "watch": watch
        case "send": send
        case "schema": schema
        default: overview
        }
    }
}
