-- SPDX-License-Identifier: MIT
-- EVAL "$(cat fill_log.lua)" 1 KEY CALLS AGO FIRST: a log of so many calls of 1 permit, a us apart.
-- It began so many us ago, and the oldest is in that slot of its ring; a key that begins with "old" has the sorted set
-- of an older weir.  Returns when it began.
local t = redis.call('TIME')
local now, calls, ago, first, parts = t[1] * 1e6 + t[2], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), {}
if KEYS[1]:sub(1, 3) == 'old' then
    redis.call('DEL', KEYS[1])
    for i = 1, calls do
        local at = string.format('%.0f', now - ago + i)
        redis.call('ZADD', KEYS[1], at, at .. ':000000')
    end
    return string.format('%.0f', now - ago)
end
local slots = calls - 1
for i = 0, slots - 1 do
    parts[(first + i) % slots + 1] = struct.pack('<I8I4', now - ago + i, i + 1)
end
local head = struct.pack('<I8I8I8I8I8I8I8I8I8I8', 0x72696577 + 2 ^ 32 + 2 ^ 40, 7 + 7 * 256, 0, now - ago + slots,
    calls, 0, slots, first, slots, 0)
redis.call('SET', KEYS[1], head .. table.concat(parts))
return string.format('%.0f', now - ago)
