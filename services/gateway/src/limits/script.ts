/**
 * `judge` of window.ts inside Redis, for many requests at once, one after the other.
 * KEYS: the counters, each once. ARGV: the window in milliseconds, the limit of each counter, and then for each request how many
 * counters it is held against and their places in KEYS, negative where it is only checked and not counted.
 * Answers for each request 1 or 0, and count and milliseconds left of each of its counters.
 */
export const takeScript = `
local window = tonumber(ARGV[1])
local limits, known, counts, rests = {}, {}, {}, {}
for i, key in ipairs(KEYS) do
  local rest = redis.call('PTTL', key)
  limits[i] = tonumber(ARGV[i + 1])
  known[i] = rest > 0 and tonumber(redis.call('GET', key)) or 0
  counts[i] = known[i]
  rests[i] = rest > 0 and rest or window
end

local answer = {}
local at = #KEYS + 2
while at <= #ARGV do
  local first, last = at + 1, at + tonumber(ARGV[at])
  local allowed = 1
  for j = first, last do
    local i = math.abs(tonumber(ARGV[j]))
    if counts[i] >= limits[i] then allowed = 0 end
  end
  answer[#answer + 1] = allowed
  for j = first, last do
    local place = tonumber(ARGV[j])
    local i = math.abs(place)
    if place > 0 then counts[i] = counts[i] + allowed end
    answer[#answer + 1] = counts[i]
    answer[#answer + 1] = rests[i]
  end
  at = last + 1
end

for i, key in ipairs(KEYS) do
  if known[i] == 0 and counts[i] > 0 then
    redis.call('SET', key, counts[i], 'PX', window)
  elseif counts[i] > known[i] then
    redis.call('INCRBY', key, counts[i] - known[i])
  end
end
return answer
`;
