#pragma once
// Landlock (Linux 5.13+) for our own helpers that read what an enemy wrote: rights that they never need are given away for good, for the
// calling thread and what it starts. Rules are by path, so this is no substitute for namespaces; it is what remains if a parser errs.

#include "sdk/base/result.hpp"

namespace harena {

/// What the kernel offers: 0 where it has none or where it is switched off, else the version of its interface.
int landlock_version();

/// A helper that handles files on behalf of a sandbox: from here on this thread executes nothing, makes no device node, opens no
/// TCP connection and no port, and (version 6) signals nobody and reaches no abstract socket that it isn't born with. Files are moved and
/// linked as before. Sets no_new_privs. Nothing happens where the kernel can't (before version 2 it can't but refuse moves).
Status confine_file_helper();

}  // namespace harena
