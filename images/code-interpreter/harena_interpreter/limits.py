"""Every number that bounds what a caller or a kernel can make this service hold."""

MAX_BODY_BYTES = 64 << 20          # of a request: code and its variables
MAX_CONTEXTS = 64                  # each is a process of 60 MiB or more
MAX_QUEUED = 256                   # executions waiting in one context
PENDING_HIGH_BYTES = 8 << 20       # output that a slow reader hasn't taken: above this its kernel is stopped ...
PENDING_LOW_BYTES = 2 << 20        # ... and goes on below this
MAX_MESSAGE_BYTES = 64 << 20       # one result or one piece of output, as the Python kernel sends it
STREAM_CHUNK = 256 << 10           # characters that the Python kernel puts out at once
MESSAGES_AHEAD = 64                # that the Python kernel may publish before the service has taken them
KERNEL_START_S = 60                # until a new kernel answers
INTERRUPT_GRACE_S = 5              # until a kernel that goes on after an interrupt is ended and started anew
KEEPALIVE_S = 5                    # of silence on a stream
QUIET_CALL_S = 30                  # setting variables in a kernel that is otherwise idle
FENCE_S = 2                        # for the mark behind what a kernel publishes late
LATE_REPLY_S = 5                   # between a kernel's "idle" and its reply
