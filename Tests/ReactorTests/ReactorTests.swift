import Testing

@Suite struct ReactorTests {}
