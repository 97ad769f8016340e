extension Help {
    static let demo = """
        Runs a model server and a client in this process, with real sockets and codecs between them: shows the stream, sends
        prompts, keeps the last picture and a recording, and prints what was measured.

        USAGE  reactor demo [OPTIONS]

        OPTIONS
          --seconds N      how long it streams; default 10
          --output DIR     where demo.png and demo.mp4 go; default: here
          --prompt TEXT    the first scene
          --size WxH       of the pictures; default 640x360
          --fps N          pictures per second; default 30
          --no-counter     without the blocks at the top that carry the picture's number
          --json           print one JSON object instead of the summary, and show nothing

        On a terminal the stream is shown as colour half blocks with a status line. Interrupting ends it with a summary.

        EXIT CODES  0 done; 1 failed; 2 the command line is wrong
        """

    static let serve = """
        Runs a model server on this machine, for this SDK and for every other client of the platform.

        USAGE  reactor serve [OPTIONS]

          reactor serve
          reactor watch --local --seconds 5 --snapshot frame.png      (in another terminal)

        OPTIONS
          --host HOST      address to listen on; default 127.0.0.1. 0.0.0.0 lets other machines in, without authentication
          --port N         default 8080; 0 takes any that is free
          --model NAME     demo: a landscape that follows set_prompt, set_speed and set_image (the default)
                           echo: returns the video and the sound that the client publishes
                           probe: numbered pictures and commands that test a client
          --size WxH       of the pictures; default 640x360 (demo, probe)
          --fps N          pictures per second; default 30 (demo, probe)
          --prompt TEXT    the first scene (demo)
          --no-counter     without the blocks that carry the picture's number (demo)
          --no-recording   no clips and recordings; saves the second encoding
          --verbose        log what happens to standard error

        Prints the URL and a line for each event. Interrupting stops it: clients are told, and the exit code is 0.

        EXIT CODES  0 stopped; 1 failed, such as a port that is taken; 2 the command line is wrong
        """
}
