# find_package(HarenaPlugin): harena_add_plugin() for projects of their own. Works from a checkout
# (-DHarenaPlugin_DIR=CHECKOUT/cmake) and from an installed SDK, which has the same layout.
include("${CMAKE_CURRENT_LIST_DIR}/harena_plugin.cmake")
set(HarenaPlugin_FOUND TRUE)
