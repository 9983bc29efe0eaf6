#pragma once
// The floor: the least that a Beast coroutine server can do.

#include <boost/asio/io_context.hpp>

#include <cstdint>

namespace harena::bench {

/// Answers every request with 200 and `body_bytes` bytes until the context is stopped; returns its port.
std::uint16_t start_beast_hello(boost::asio::io_context& context, std::size_t body_bytes);

}  // namespace harena::bench
