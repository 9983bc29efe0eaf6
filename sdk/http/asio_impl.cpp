// What Asio and Beast keep outside their headers (BOOST_ASIO_SEPARATE_COMPILATION, BOOST_BEAST_SEPARATE_COMPILATION).
#include <utility>

#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
