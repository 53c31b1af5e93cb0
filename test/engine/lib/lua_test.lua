
-- SPDX-License-Identifier: MIT
-- What lua.sh puts behind weir.lua: a look at what is stored, and at what was read of a text.

-- Of each key: the bytes or the members, and when it expires.
local function stored(keys)
    local lines = ''
    for i = 1, #keys do
        local key = keys[i]
        local kind = redis.call('TYPE', key).ok
        if kind == 'string' then
            lines = lines .. gsub(call('GET', key), '.', function(c) return format('%02x', byte(c)) end)
        elseif kind == 'zset' then
            local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
            for j = 1, #all, 2 do lines = lines .. all[j] .. '=' .. all[j + 1] .. ',' end
        end
        if kind ~= 'none' then lines = lines .. format(' expires %.0f', redis.call('PEXPIRETIME', key)) end
        lines = lines .. ';'
    end
    return lines
end

-- As lua_text.c says them.
local function rules(_, args)
    local lines = ''
    local read = plan_of(args[1])
    for _, rule in ipairs(read) do
        local flags = (rule.counts_refused and 1 or 0) + (rule.aligned and 2 or 0) + (rule.starts_full and 4 or 0)
            + (rule.closed and 8 or 0) + (rule.guaranteed and 16 or 0)
        local numbers = {rule.kind, flags, rule.burst, rule.permit or 0, rule.per or 0, rule.top or 0, rule.debt or 0,
            rule.period or 0, rule.block or 0, rule.gap or 0, rule.second or 0, rule.third or 0, rule.calm or 0,
            rule.kind == HYBRID and rule.per_fast or 0}
        for i = 1, #numbers do lines = lines .. format(' %.0f', numbers[i]) end
        lines = lines .. ';'
    end
    local weight = read.levels == 1 and read[1].weight or read.weight
    if weight then lines = lines .. format(' weight %.0f', weight) end
    if read.weight then
        lines = lines .. format(' of %d %d %.0f %.0f', read.weight_level - 1, read.shared - 1, read.permit, read.parts)
    end
    return lines
end

redis.register_function{
    function_name = 'weir_test_stored', flags = {'no-writes'}, callback = answering(stored),
}
redis.register_function{
    function_name = 'weir_test_rules', flags = {'no-writes'}, callback = answering(rules),
}
