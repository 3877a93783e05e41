-- Sends the requests of a file in a circle: one a line, method, path and body with tabs in between. Prints a line of JSON at the end.
local prepared = {}
local count = 0
local nth = 0

function init(args)
  for line in io.lines(args[1]) do
    local method, path, body = line:match("^(%u+)\t([^\t]*)\t(.*)$")
    count = count + 1
    if body == "" then
      prepared[count] = wrk.format(method, path)
    else
      prepared[count] = wrk.format(method, path, { ["Content-Type"] = "application/json" }, body)
    end
  end
  math.randomseed(os.time())
  nth = math.random(count)
end

function request()
  nth = nth % count + 1
  return prepared[nth]
end

function done(summary, latency)
  local errors = summary.errors
  local refused = errors.status + errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format('{"answered":%d,"refused":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f}\n',
    summary.requests - errors.status, refused, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
