"""What a request can be refused with: an HTTP status and a sentence, which the SDKs hand on to their callers."""


class Refused(Exception):
    """``status``: as the SDKs read it; 400 is InvalidArgument, 404 NotFound, everything else a SandboxError."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
        self.message = message


class KernelFailed(Exception):
    """A kernel that didn't come up, or isn't there any more. The message is for the caller of the execution."""
