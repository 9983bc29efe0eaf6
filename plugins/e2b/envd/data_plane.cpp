#include "plugins/e2b/envd/data_plane.hpp"

namespace harena::e2b {

http::Task<Result<bool>> serve_data_plane(Services&, http::Request&, http::ResponseWriter&) { co_return false; }

}  // namespace harena::e2b
