# Writes plugin.json beside LIBRARY: what the host reads before it opens the library (docs/plugin-abi.md).
# cmake -DNAME= -DID= -DVERSION= -DABI= -DCONTRACTS=a,b -DLIBRARY=/path/to.so -P harena_plugin_manifest.cmake
get_filename_component(folder "${LIBRARY}" DIRECTORY)
get_filename_component(file "${LIBRARY}" NAME)
file(SHA256 "${LIBRARY}" sha256)
string(REPLACE "," "\", \"" contracts "${CONTRACTS}")
file(WRITE "${folder}/plugin.json.new" "{
  \"name\": \"${NAME}\",
  \"id\": \"${ID}\",
  \"version\": \"${VERSION}\",
  \"abi\": \"${ABI}\",
  \"contracts\": [\"${contracts}\"],
  \"library\": \"${file}\",
  \"sha256\": \"${sha256}\"
}
")
file(RENAME "${folder}/plugin.json.new" "${folder}/plugin.json")
