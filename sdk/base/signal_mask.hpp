#pragma once
// Signals belong to the program's own threads.

namespace harena {

/// For the beginning of a thread that a library or plugin makes: it must neither run the program's handlers nor swallow what the program
/// waits for.
void block_all_signals();

}  // namespace harena
