#pragma once
// Signals belong to the program's own threads.

namespace harena {

/// Of the calling thread. For the beginning of one that a library or plugin makes: it must neither run the program's handlers nor swallow what
/// the program waits for. And for an init, which has one thread and no handlers.
void block_all_signals();

}  // namespace harena
