/// Who is calling; part of session creation, offers and candidate batches (wire-protocol 2.1).
package struct ClientInfo: Hashable, Sendable {
    package var sdkVersion: String
    package var sdkType: String

    package init(sdkVersion: String, sdkType: String = "swift") {
        self.sdkVersion = sdkVersion
        self.sdkType = sdkType
    }

    var wireValue: WireValue {
        .object(["sdk_version": .string(sdkVersion), "sdk_type": .string(sdkType)])
    }
}
