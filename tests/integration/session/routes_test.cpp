// The API's routes for commands and files over real HTTP, down to a real shim.

#include <nlohmann/json.hpp>

#include "core/api/session/session_routes.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/router.hpp"
#include "sdk/http/test_support.hpp"
#include "tests/integration/session/shim_fixture.hpp"

namespace harena {
namespace {

using nlohmann::json;

class FixedConnector final : public SessionConnector {
 public:
  explicit FixedConnector(std::shared_ptr<session::Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}
  http::Task<Result<SessionLink>> connect() override { co_return SessionLink{session::SessionClient(endpoint_), nullptr}; }

 private:
  std::shared_ptr<session::Endpoint> endpoint_;
};

class Routes : public ::testing::Test {
 protected:
  Routes() {
    for (const auto& route : session_routes()) {
      http::Route added;
      added.method = route.method;
      added.pattern = route.pattern;
      added.handler = [&route, this](http::Request& request, http::ResponseWriter& response) -> http::Task<Status> {
        FixedConnector connector(endpoint);
        co_return co_await run_session_route(route, request, response, connector);
      };
      EXPECT_TRUE(router.add(std::move(added)).ok());
    }
    server.emplace(router.handler());
  }
  ~Routes() override {
    server->server().stop(std::chrono::milliseconds(0));
    endpoint->close();
  }

  http::FetchResponse call(std::string method, std::string rest, std::string body = "") {
    http::FetchRequest request;
    request.method = std::move(method);
    request.target = "/v1/sandboxes/x" + rest;
    request.body = std::move(body);
    return server->fetch(std::move(request));
  }
  json post(std::string rest, const json& body, int status) {
    auto answer = call("POST", std::move(rest), body.dump());
    EXPECT_EQ(answer.status, status) << answer.body;
    return json::parse(answer.body);
  }
  std::string path(const std::string& name) { return percent_encode(shim.folder() + "/" + name, true); }

  session::ShimProcess shim;
  std::shared_ptr<session::Endpoint> endpoint = session::Endpoint::over_unix(shim.socket());
  http::Router router;
  std::optional<http::TestServer> server;
};

TEST_F(Routes, CommandWithWholeResult) {
  json body = {{"shell", "cat; printf '\\377' >&2; exit 3"}, {"stdin_data", "in"}, {"wait", true}};
  auto answer = post("/commands", body, 200);
  EXPECT_EQ(answer["stdout"], "in");
  EXPECT_EQ(answer["stderr_b64"], "/w==");
  EXPECT_EQ(answer["exit"]["code"], 3);
  EXPECT_EQ(answer["exit"]["cause"], "exit");
  EXPECT_EQ(answer["state"], "exited");
}

TEST_F(Routes, BadInputIsNamed) {
  auto unknown = post("/commands", {{"argv", {"true"}}, {"shel", "x"}}, 400);
  EXPECT_NE(unknown["error"]["message"].get<std::string>().find("shell"), std::string::npos) << unknown;
  auto missing = post("/commands", {{"argv", {"no-such-program"}}, {"wait", true}}, 404);
  EXPECT_EQ(missing["error"]["details"]["reason"], "no_such_program");
  EXPECT_EQ(call("POST", "/commands", "{").status, 400);
  EXPECT_EQ(call("GET", "/commands/c99").status, 404);
  EXPECT_EQ(call("GET", "/files?path=relative").status, 400);
  EXPECT_EQ(call("GET", "/files?path=/dev/zero").status, 409);
}

TEST_F(Routes, OutputStreamFromAnOffset) {
  // To its end first: an offset that isn't there yet is refused.
  auto started = post("/commands", {{"shell", "printf 0123456789; exit 2"}, {"wait", true}}, 200);
  auto answer = call("GET", "/commands/" + started["id"].get<std::string>() + "/output?stdout_offset=4");
  std::string text;
  json last;
  for (const auto& line : split(answer.body, '\n')) {
    if (line.empty()) continue;
    last = json::parse(line);
    if (last.contains("data")) text += last["data"].get<std::string>();
  }
  EXPECT_EQ(text, "456789");
  EXPECT_EQ(last["exit"]["code"], 2);
  EXPECT_EQ(call("GET", "/commands/" + started["id"].get<std::string>() + "/output?stdout_offset=400").status, 416);
}

TEST_F(Routes, StdinByOffsetAndSignal) {
  auto started = post("/commands", {{"shell", "cat"}, {"stdin", "pipe"}}, 201);
  std::string at = "/commands/" + started["id"].get<std::string>();
  EXPECT_EQ(json::parse(call("POST", at + "/stdin?offset=0", "abc").body)["accepted"], 3);
  EXPECT_EQ(json::parse(call("POST", at + "/stdin?offset=1&eof=true", "bcde").body)["accepted"], 5);
  auto output = call("GET", at + "/output");
  EXPECT_NE(output.body.find("abc"), std::string::npos);
  EXPECT_NE(output.body.find("\"code\":0"), std::string::npos);
  auto sleeper = post("/commands", {{"argv", {"sleep", "30"}}}, 201)["id"].get<std::string>();
  post("/commands/" + sleeper + "/signal", {{"signal", "KILL"}, {"target", "tree"}}, 200);
  EXPECT_NE(call("GET", "/commands/" + sleeper + "/output").body.find("\"signal\":\"KILL\""), std::string::npos);
  EXPECT_EQ(call("DELETE", "/commands/" + sleeper).status, 200);
  EXPECT_EQ(call("GET", "/commands/" + sleeper).status, 404);
}

TEST_F(Routes, FilesWithRangeAndOddNames) {
  std::string name = "new\nline \xff";
  auto put = call("PUT", "/files?path=" + path("d/" + name) + "&parents=true&mode=0640", "0123456789");
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(json::parse(put.body)["mode"], "0640");
  http::FetchRequest ranged;
  ranged.target = "/v1/sandboxes/x/files?path=" + path("d/" + name);
  ranged.headers.set("Range", "bytes=2-4");
  auto part = server->fetch(ranged);
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.headers.get("Content-Range"), "bytes 2-4/10");
  auto listed = json::parse(call("GET", "/files/list?recursive=true&limit=1&path=" + path("d")).body);
  EXPECT_EQ(base64_decode(listed["entries"][0]["name_b64"].get<std::string>()).value_or(""), name);
  EXPECT_EQ(listed["next_cursor"], "");
  json move = {{"from_b64", base64_encode(shim.folder() + "/d/" + name)}, {"to", shim.folder() + "/moved"}};
  EXPECT_EQ(post("/files/move", move, 200)["name"], "moved");
  EXPECT_EQ(call("DELETE", "/files?path=" + path("moved")).status, 200);
  EXPECT_EQ(call("GET", "/files/stat?path=" + path("moved")).status, 404);
}

TEST_F(Routes, TerminalByWebSocket) {
  auto started = post("/commands", {{"shell", "read a; stty size; echo got $a"}, {"stdin", "pipe"}, {"pty", {{"rows", 30}, {"cols", 90}}}}, 201);
  std::string target = "/v1/sandboxes/x/commands/" + started["id"].get<std::string>() + "/attach";
  auto task = [](http::Endpoint endpoint, std::string where) -> http::Task<Result<std::string>> {
    HARENA_CO_TRY(auto stream, co_await http::connect(endpoint));
    http::Headers headers;
    headers.set("Host", "localhost");
    http::WebSocketOptions options;
    HARENA_CO_TRY(auto socket, co_await http::connect_websocket(std::move(stream), where, headers, options));
    using Kind = http::WebSocketMessage::Kind;
    HARENA_CO_TRY_STATUS(co_await socket->send(Kind::text, "{\"resize\":{\"rows\":40,\"cols\":100}}"));
    HARENA_CO_TRY_STATUS(co_await socket->send(Kind::binary, "word\n"));
    std::string all;
    for (;;) {
      HARENA_CO_TRY(auto message, co_await socket->receive());
      if (message.kind == Kind::closed) co_return all + "|" + std::to_string(message.close_code);
      all += message.data;
    }
  };
  auto all = http::run_on(server->io(), task(server->endpoint(), target));
  ASSERT_TRUE(all) << all.error().describe();
  EXPECT_NE(all->find("40 100"), std::string::npos) << *all;
  EXPECT_NE(all->find("got word"), std::string::npos) << *all;
  EXPECT_NE(all->find("\"exit\""), std::string::npos) << *all;
  EXPECT_TRUE(all->ends_with("|1000")) << *all;
}

}  // namespace
}  // namespace harena
