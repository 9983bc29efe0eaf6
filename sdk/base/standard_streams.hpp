#pragma once
// A program may be started with stdin, stdout or stderr closed. The next file that it opens, a socket say, would get that number, and be
// read or written as if it were the stream.

namespace harena {

/// Fills numbers 0 to 2 where they are free: stdin has its end at once, what is written to stdout or stderr fails with EBADF as it
/// would have. To be called before anything is opened, and while there is one thread.
void fill_standard_streams();

}  // namespace harena
