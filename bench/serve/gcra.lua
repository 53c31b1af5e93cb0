-- SPDX-License-Identifier: MIT
-- GCRA as one writes it for Redis: the theoretical arrival time of a key, in us, gone when it is past.
-- KEYS[1]; ARGV: max_burst count period_s, as CL.THROTTLE has them.  The five integers of CL.THROTTLE.
local limit = tonumber(ARGV[1]) + 1
local period_us = tonumber(ARGV[3]) * 1000000
local emission_us = period_us / tonumber(ARGV[2])
local burst_us = emission_us * limit

local time = redis.call('TIME')
local now_us = tonumber(time[1]) * 1000000 + tonumber(time[2])
local arrival_us = math.max(tonumber(redis.call('GET', KEYS[1]) or now_us), now_us)
local next_us = arrival_us + emission_us
local over_us = next_us - now_us - burst_us

if over_us > 0 then
    local ahead_us = arrival_us - now_us
    return {1, limit, math.floor((burst_us - ahead_us) / emission_us), math.ceil(over_us / 1000000),
            math.ceil(ahead_us / 1000000)}
end
local ahead_us = next_us - now_us
redis.call('SET', KEYS[1], string.format('%.0f', next_us), 'PX', math.ceil(ahead_us / 1000))
return {0, limit, math.floor((burst_us - ahead_us) / emission_us), -1, math.ceil(ahead_us / 1000000)}
