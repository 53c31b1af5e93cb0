#!lua name=weir
-- SPDX-License-Identifier: MIT
-- Limits on rate, decided inside Redis >= 7 or Valkey, where modules cannot be loaded.
--
--     FUNCTION LOAD (this file)      FCALL weir_take 1 {weir:user:42} '10/s burst=20' 1
--     SCRIPT LOAD (without line 1)   EVALSHA ... 1 {weir:user:42} weir_take '10/s burst=20' 1
--
-- One question: may this pass now?  The simplest answer is a counter with an expiry; it lets twice the limit through
-- where two periods meet.  A bucket does not: it is filled by what is taken and drains at the rate, and what does not
-- fit any more is refused.  So remember how full it was, and when that was:
--
--     level |     .take            level at now = max(0, level - (now - seen) * per)
--           |    /|\               allowed  <=>  level at now + cost * permit <= top
--           |___/ | \___
--          seen        now
--
-- A number of Lua is a double: whole up to 2^53, and a microsecond of today is 2^51 already.  So nothing is a fraction
-- here.  A level counts ticks, chosen for each limit so that a permit is `permit` of them and `per` drain in a us, both
-- whole: 3/s has permits of 1,000,000 ticks, and 3 drain.  Whatever needs more than 2^52 is refused when the text is
-- read.  src/redis/micro says the same in C for the module, line by line, and a test asks both the same million
-- questions.
--
-- The value of a key is the module's, too, so both may be used in alternation: little endian words of 64 bits,
--
--     "weir" 1 n 0 0 | kind + 256 * words, per, word, word... | the next limit's |      gone when all is full again
--
-- and behind the cell of a sliding-log, which is alone, there are its entries: of a long log a call reads few.  Of
-- tenants with weights the last cell may be a mark, which no limit writes: fixed with a burst of 1.  The slots of a
-- concurrent limit are a sorted set by the us at which they end, at a key of its own.
--
-- Asked with one key for all limits of a text, or with a key for each.  Answers are numbers in us; see README and
-- doc/engine.md.  A refusal writes nothing, unless refused calls are counted.  Errors begin with WEIRLIMIT (a
-- text, with its column), WEIRARG, WEIRKEYS or WEIRVALUE.
--
--     weir_take    keys  limit cost... [PEEK] [WAIT us]     verdict limit remaining delay retry full taken late [id]
--     weir_charge  keys  limit cost...                      the same; takes whatever the balance
--     weir_settle  keys  limit taken:cost... actual...      1
--     weir_renew, weir_release  keys  limit id              1, or 0 when nothing is held under this id any more
--     weir_forget  keys                                     how many there were
--     weir_lease   key   limit want lifetime_us [id permits unused]      permits id remaining retry
--     weir_return  key   limit id permits unused          1, or 0 when its time was over
--     weir_version                                             its version, the format of its values, its limits
--
-- From here on: numbers; the text of a limit; from it the numbers of a rule; what each kind of limit answers; several
-- at once; keys and values; the functions.

local VERSION = '1.0.0' -- as in weir.h

-- Out of reach while FUNCTION LOAD runs: the first call fetches them.
local find, match, sub, gsub, format, rep, byte, upper, gmatch
local fmod, floor, max, min, unpack, pcall, tonumber
local call, try, pack, unpack_bytes, concat, type, tostring

local function fetch()
    find, match, sub, gsub, format = string.find, string.match, string.sub, string.gsub, string.format
    rep, byte, gmatch = string.rep, string.byte, string.gmatch
    upper = string.upper
    fmod, floor, max, min = math.fmod, math.floor, math.max, math.min
    call, try, pack, unpack_bytes = redis.call, redis.pcall, struct.pack, struct.unpack
    concat, type, tostring = table.concat, _G.type, _G.tostring
    unpack, pcall, tonumber = _G.unpack, _G.pcall, _G.tonumber
end

local EXACT = 2 ^ 53 -- a double holds every whole number up to here
local ALL = EXACT - 1 -- remaining of what is unlimited
local MOST = 2 ^ 52 -- of each number in a rule or a state
local HYBRID_MOST = 2 ^ 51 -- ticks of a hybrid's pool, and of the lag that it remembers
local PERIOD_MOST = 2 ^ 50 -- us, 35 years: of it some are added to a time
local LIFETIME_MOST = 2 ^ 40 -- us of a lease
local BURST_MOST = 2 ^ 37 - 1 -- of a cell; a larger burst is as this one there
local LEASE_SHARE, LEASE_LEAST = 8, 2 -- a lease has at most this part of what is there, and at least so many
local LEVELS_MOST, LIMITS_MOST, WORDS_MOST, PLANS_MOST, TEXT_MOST = 4, 8, 7, 1000, 1024
local LOG_MOST, LOG_REACH, LOG_READ = 100000, 1024, 848 -- permits; entries written at once; bytes that are read
local SLOTS_MOST, ID_PARTS = 10000, 1000 -- of a concurrent limit; ids of one us

-- As they are in the first byte of a cell.
local NONE, UNLIMITED, GCRA, HYBRID, LEAKY, FIXED, SLIDING, LOG, CONCURRENT = 0, 1, 2, 3, 4, 5, 6, 7, 8
local KIND = {
    none = NONE, unlimited = UNLIMITED, gcra = GCRA, hybrid = HYBRID, leaky = LEAKY, ['fixed-window'] = FIXED,
    ['sliding-window'] = SLIDING, ['sliding-log'] = LOG, concurrent = CONCURRENT,
}

local function fail(...)
    error(format(...), 0)
end

-- ---- whole numbers ------------------------------------------------------------------------------------------------

-- The operator is faster than fmod, and below 0 where a / b was rounded up to a whole number.
local function divide(a, b)
    local rest = a % b
    if rest < 0 then rest = fmod(a, b) end
    return (a - rest) / b
end

local function divide_up(a, b)
    local rest = a % b
    if rest < 0 then rest = fmod(a, b) end
    if rest == 0 then return a / b end
    return (a - rest) / b + 1
end

local function gcd(a, b)
    while b ~= 0 do a, b = b, fmod(a, b) end
    return a
end

local function times(a, b)
    return min(a * b, MOST)
end

-- a * b / c, 2^52 at most, and what is left over; bit by bit where a * b is more than a double holds.
local function muldiv(a, b, c)
    local product = a * b
    if product < EXACT then
        local rest = fmod(product, c)
        return min((product - rest) / c, MOST), rest
    end
    local step = fmod(a, c)
    local whole, result, rest, bit = times((a - step) / c, b), 0, 0, MOST
    while bit >= 1 do
        result, rest = result * 2, rest * 2
        if rest >= c then result, rest = result + 1, rest - c end
        if b >= bit then b, rest = b - bit, rest + step end
        if rest >= c then result, rest = result + 1, rest - c end
        bit = bit / 2
    end
    return min(whole + result, MOST), rest
end

local function muldiv_up(a, b, c)
    local result, rest = muldiv(a, b, c)
    return min(result + (rest > 0 and 1 or 0), MOST)
end

-- ---- the text of a limit ------------------------------------------------------------------------------------------
--
--     text   = level { " under " level }                 of tenants: the user's, the organisation's ... all
--     level  = limit { ";" limit }                       spaces around ";" and between options, nowhere else
--     limit  = "none" | "unlimited" [ " weight=" COUNT ] | rate { " " option } | slots " lease=" COUNT PERIOD
--     rate   = COUNT [ " " UNIT ] "/" [ COUNT ] PERIOD   PERIOD: ns us ms s min h d w year
--     slots  = COUNT " concurrent" [ " " UNIT ]
--     option = NAME [ "=" VALUE ]                        VALUE: a COUNT, a time (COUNT PERIOD), or a word
--
-- The module reads the same texts, see src/redis/micro/plain.c; weir's clients write anything richer in this way.

-- The plan of a text: a list of rules.
local read_text
do

local text, at, limit -- what is being read, and where; `limit` is what was said of the limit that is being read
local logs, log_permits, held_slots -- of the text so far

local WEIGHT_MOST, PARTS_BITS, BURST_PARTS = 1000, 40, 2 ^ 45 -- of tenants: parts of a us, of a shared burst

local US = { -- and ns, of which a us has 1000
    us = 1, ms = 1e3, s = 1e6, min = 6e7, h = 3.6e9, d = 8.64e10, w = 6.048e11, year = 3.1536e13,
}
local NO_UNITS = ' bits kbits mbits gbits bps kbps mbps gbps secs seconds mins minutes hours days weeks years '
    .. 'strictness ' -- words of richer texts
local OPTIONS_OF = {
    gcra = ' burst debt start guaranteed weight ', hybrid = ' burst catchup debt start ',
    leaky = ' burst nodelay delay ', none = ' nothing ', unlimited = ' weight ',
    ['fixed-window'] = ' block align count-refused ', ['sliding-window'] = ' debt ',
    ['sliding-log'] = ' gap edge count-refused ', concurrent = ' lease ',
}

local function mistake(column, words)
    fail('WEIRLIMIT col %d: %s', column, words)
end

local function skip_spaces()
    at = match(text, '^ *()', at)
end

local function is_end()
    return find(text, '^;', at) or at > #text or (sub(text, at - 1, at - 1) == ' ' and find(text, '^under ', at))
end

local function digits(pattern, expected)
    local found, behind = match(text, '^(' .. pattern .. ')()', at)
    local number = found and tonumber((gsub(found, '%.', '')))
    if not number or find(found, '^0%d') or number > MOST then
        mistake(at, expected .. ', in digits up to 2^52; for example 100/s burst=200')
    end
    at = behind
    return number, found
end

local function count()
    return digits('%d+', 'expected a whole number')
end

-- In us, or in thousandths of one.
local function period(number, from)
    local unit, behind = match(text, '^(%l+)()', at)
    local fine = unit == 'ns'
    if not (fine or US[unit or '']) or (not fine and number * US[unit] > MOST) then
        mistake(from, 'expected a period up to 2^52 us: ns, us, ms, s, min, h, d, w or year; for example 5/15min')
    end
    at = behind
    if not fine then return number * US[unit], 1 end
    if fmod(number, 1000) == 0 then return number / 1000, 1 end
    return number, 1000
end

local function time()
    local from = at
    return period(count(), from)
end

local function amount()
    local from, number = at, count()
    if not find(text, '^%l', at) then return number end
    return period(number, from)
end

local function decimal()
    local number, found = digits('%d+%.?%d*', 'expected a number')
    local places = match(found, '%.(.*)')
    if places == '' then mistake(at, 'expected digits behind the point; for example catchup=1.1') end
    return number, 10 ^ #(places or '')
end

local function holds(words, word)
    return find(words, ' ' .. word .. ' ', 1, true)
end

local function one_of(words)
    return function()
        local word, behind = match(text, '^([%l-]+)()', at)
        if not word or not holds(words, word) then mistake(at, 'expected one of' .. sub(words, 1, -2)) end
        at = behind
        return word
    end
end

-- What reads its value, and the algorithm that it brings where none is said.
local OPTIONS = {
    burst = {amount}, catchup = {decimal, 'hybrid'}, debt = {count}, start = {one_of(' full empty ')},
    algorithm = {one_of(' gcra hybrid leaky fixed-window sliding-window sliding-log ')},
    nodelay = {nil, 'leaky'}, delay = {count, 'leaky'}, gap = {time, 'sliding-log'}, block = {time, 'fixed-window'},
    align = {one_of(' clock first '), 'fixed-window'}, edge = {one_of(' open closed '), 'sliding-log'},
    ['count-refused'] = {nil, 'sliding-log'}, lease = {time}, guaranteed = {nil}, weight = {count},
}
local BRINGS = {'catchup', 'nodelay', 'delay', 'gap', 'block', 'align', 'edge', 'count-refused'} -- the first one does

local function is_unit(word)
    return #word <= 23 and find(word, '^%l[%l-]+s$') and not holds(NO_UNITS, word)
end

-- Behind "concurrent" may be a unit, or the options begin.
local function read_slots()
    local from, word, behind = match(text, '^ +()(%l[%l-]*)()', at)
    limit.slots, limit.algorithm = true, 'concurrent'
    if not word or sub(text, behind, behind) == '=' then return end
    if not is_unit(word) then mistake(from, 'expected a unit or lease=; for example 20 concurrent jobs lease=30s') end
    at, limit.unit = behind, word
end

local function read_rate()
    limit.column.rate = at
    limit.count = count()
    if limit.count == 0 then mistake(limit.column.rate, 'a rate is above 0; to stop everything write none') end
    local slots = match(text, '^ concurrent()', at)
    if slots and not find(text, '^[%l-]', slots) then
        at = slots
        return read_slots()
    end
    local unit, behind = match(text, '^ (%l[%l-]+s)()/', at)
    if unit and is_unit(unit) then at, limit.unit = behind, unit end
    if sub(text, at, at) ~= '/' then
        mistake(at, 'expected "/" and a period behind a plain count, or a unit and those; for example 100000 '
            .. 'tokens/min (weir explain writes any limit so)')
    end
    at = at + 1
    limit.us, limit.parts = period(find(text, '^%d', at) and count() or 1, at)
    if limit.us == 0 then mistake(at, 'a period is longer than 0; for example 10/s') end
end

local function read_option()
    local from, name, behind = at, match(text, '^(%l[%l-]*)()', at)
    local option = OPTIONS[name or '']
    if not option then mistake(from, 'expected an option of an engine, or ";"; for example 10/s burst=20; 1000/h') end
    if limit.column[name] then mistake(from, name .. ' is given twice') end
    at, limit.column[name], limit[name] = behind, from, true
    if not option[1] then return end
    if sub(text, at, at) ~= '=' then mistake(at, 'expected "=" and a value after ' .. name) end
    at = at + 1
    limit[name], limit[name .. '_parts'] = option[1]()
end

local function choose_algorithm()
    if limit.slots and limit.column.algorithm then
        mistake(limit.column.algorithm, 'how many at once has no other algorithm; leave it out')
    elseif limit.open and limit.column.algorithm then
        mistake(limit.column.algorithm, limit.open .. ' has no other algorithm; leave it out')
    end
    for i = 1, #BRINGS do
        limit.algorithm = limit.algorithm or (limit[BRINGS[i]] and OPTIONS[BRINGS[i]][2])
    end
    limit.algorithm = limit.algorithm or 'gcra'
    for name, column in pairs(limit.column) do
        local known = OPTIONS_OF[limit.algorithm]
        if name ~= 'rate' and name ~= 'algorithm' and not holds(known, name) then
            mistake(column, name .. ' does not belong to algorithm=' .. limit.algorithm .. ', which has' .. known)
        end
    end
end

-- ---- from what was said to the numbers of a rule ----

local TOO_MUCH = 'this rate and burst need numbers over 2^52 in an engine; write a rounder rate or a smaller burst, '
    .. 'for example 100/s burst=200'
local TOO_LONG = 'an engine keeps this limit for at most 35 years; write a shorter period or a smaller burst, for '
    .. 'example 1000/d'

local function refuse(option, words)
    mistake(limit.column[option] or limit.column.rate, words)
end

-- `per` permits in `permit` us, in lowest terms.
local function ratio_of()
    local common = gcd(limit.count, limit.us)
    local per, permit = limit.count / common, limit.us / common
    common = gcd(limit.parts, permit)
    per, permit = per * (limit.parts / common), permit / common
    if per > 1e6 * permit then
        refuse('rate', 'this rate is over 10^12 a second, the most that weir can count; for example 1000000000/s')
    end
    return per, permit
end

-- The same, small enough for a line.
local function rate_of()
    local per, permit = ratio_of()
    if per / gcd(per, 1000) > MOST / 1000 then refuse('rate', TOO_MUCH) end
    return per, permit
end

local function default_burst()
    limit.burst = limit.burst or min(limit.count, 2 ^ 32)
end

-- Ticks of the burst; what is a part of one lets nothing more pass at a whole us.
local function top_of(rule)
    if not limit.burst_parts then return times(limit.burst, rule.permit) end
    if limit.burst / limit.burst_parts * rule.per >= EXACT then return MOST end
    return (muldiv(limit.burst, rule.per, limit.burst_parts))
end

local function debt_of(rule)
    local most_debt = MOST - rule.top
    if not limit.debt then return most_debt end
    if times(limit.debt, rule.permit) > most_debt then
        refuse('debt', 'burst and debt together are over 2^52 ticks of an engine; write a smaller debt, for example '
            .. 'debt=1000')
    end
    return limit.debt * rule.permit
end

-- The ratio ratio / parts is 1 but for hybrid.
local function compile_line(rule, per, permit, ratio, parts)
    rule.per, rule.permit, rule.per_fast = times(per, parts), times(permit, parts), times(per, ratio)
    rule.top = top_of(rule)
    if max(rule.permit, rule.per_fast, rule.top) >= MOST then refuse('rate', TOO_MUCH) end
    if rule.top < rule.permit then
        refuse('burst', 'burst is at least 1, or nothing could ever pass; for example burst=1')
    end
    rule.burst = divide(rule.top, rule.permit)
    rule.fits = min(rule.burst, BURST_MOST)
    rule.debt = debt_of(rule)
end

local COMPILE = {}

function COMPILE.gcra(rule)
    if limit.start == 'empty' then
        refuse('start', 'start=empty is not kept in an engine, where a key without anything used has no state; leave '
            .. 'it out')
    end
    default_burst()
    local per, permit = rate_of()
    compile_line(rule, per, permit, 1, 1)
    rule.guaranteed = limit.guaranteed
end

-- Two operations, and 10 ms at least; where they last less than 200 ms, what is lost is made up for.
local function default_pool(per, permit)
    if limit.burst then return end
    if not limit.catchup and 2 * permit < 200000 * per then limit.catchup, limit.catchup_parts = 11, 10 end
    local fast = 2 * permit <= 10000 * per
    limit.burst, limit.burst_parts = fast and 10000 or 2, fast and 1 or nil
end

-- In a process a permit of this line is 2^n ticks, each of half a nanosecond to a whole one, and 2^60 is the end.
local function check_pool(rule, per, permit)
    local ticks = 1
    while ticks * per < permit * 1000 do ticks = ticks * 2 end
    if rule.top / rule.permit * ticks * rule.per_fast / rule.per > 2 ^ 60 then
        refuse('burst', 'burst times catchup is longer than 18 years; choose a smaller burst, for example burst=2, or '
            .. 'for a slower rate algorithm=gcra')
    end
    if rule.top > HYBRID_MOST then refuse('burst', TOO_MUCH) end
end

function COMPILE.hybrid(rule)
    local per, permit = rate_of()
    default_pool(per, permit)
    local ratio, parts = limit.catchup or 1, limit.catchup_parts or 1
    if ratio < parts or ratio - 1000 * parts >= parts / 2 ^ 32 then
        refuse('catchup', 'catchup is 1 to 1000: how much faster to run while behind; for example catchup=1.1')
    end
    local common = gcd(ratio, parts)
    compile_line(rule, per, permit, ratio / common, parts / common)
    check_pool(rule, per, permit)
    rule.starts_full = limit.start == 'full'
    rule.burst = divide(MOST, rule.permit)
end

-- second / third thousandths leak in a millisecond, in lowest terms; up to `calm` starts at once.
function COMPILE.leaky(rule)
    default_burst()
    local per, permit = ratio_of()
    local common = gcd(1e6, permit)
    rule.second, rule.third = times(per, 1e6 / common), permit / common
    if rule.second >= MOST then refuse('rate', TOO_MUCH) end
    if limit.burst_parts or limit.burst == 0 then
        refuse('burst', 'leaky counts its burst in permits, at least 1; for example burst=20')
    elseif limit.delay and (limit.nodelay or limit.delay == 0) then
        refuse('delay', 'delay is at least 1 and not with nodelay; to delay all that is above the rate leave both out')
    end
    local highest = muldiv(divide(PERIOD_MOST, 1000), rule.second, rule.third)
    rule.burst, rule.top = limit.burst, times(limit.burst, 1000)
    rule.permit, rule.fits = 1000, min(rule.burst, BURST_MOST)
    if rule.top >= min(highest, MOST) then refuse('burst', TOO_LONG) end
    rule.debt = highest - rule.top
    rule.calm = limit.nodelay and rule.top or min(times((limit.delay or 0) + 1, 1000), rule.top)
end

-- Rounded up where that changes no answer at a whole us: an end is passed at the next one.
local function us_up(option, us, parts)
    local whole = divide_up(us, parts)
    if whole > PERIOD_MOST then refuse(option, TOO_LONG) end
    return whole
end

local function compile_window(rule)
    if limit.count >= MOST then refuse('rate', TOO_MUCH) end
    rule.burst, rule.period = limit.count, us_up('rate', limit.us, limit.parts)
    rule.aligned = limit.align == 'clock'
    rule.counts_refused = limit['count-refused'] or limit.block ~= nil
    if limit.parts ~= 1 and (rule.aligned or rule.kind == SLIDING) then
        refuse('rate', "an engine's clock counts whole microseconds, and so do windows in it; write a period of whole "
            .. 'us, for example 10/ms')
    end
end

COMPILE['fixed-window'] = function(rule)
    compile_window(rule)
    if limit.block == 0 then
        refuse('block', 'block is above 0; leave it out for no blocking; for example block=1min')
    end
    rule.block = limit.block and us_up('block', limit.block, limit.block_parts) or 0
end

COMPILE['sliding-window'] = function(rule)
    compile_window(rule)
    rule.debt = limit.debt or MOST - rule.burst
    if rule.debt > MOST - rule.burst then refuse('debt', TOO_MUCH) end
end

-- edge=closed: an entry counts for one ns more.
COMPILE['sliding-log'] = function(rule)
    compile_window(rule)
    logs, log_permits = logs + 1, log_permits + rule.burst
    if log_permits > LOG_MOST then
        refuse('rate', 'a sliding-log keeps a time for each call, in an engine for at most 100000 permits in all '
            .. 'limits of a text; shorten the period, for example 1000/s for 60000/min, or write '
            .. 'algorithm=sliding-window')
    end
    rule.gap = limit.gap and us_up('gap', limit.gap, limit.gap_parts) or 0
    rule.closed = limit.edge == 'closed'
    if rule.closed and limit.parts == 1 then rule.period = us_up('rate', limit.us + 1, 1) end
end

function COMPILE.concurrent(rule)
    if not limit.lease then
        refuse('rate', 'how long may one run that does not say when it ends? write lease=TIME; for example 20 '
            .. 'concurrent lease=30s')
    elseif limit.count > SLOTS_MOST then
        refuse('rate', 'an engine keeps at most 10000 slots at one key; for example 10000 concurrent lease=30s')
    elseif limit.lease == 0 then
        refuse('lease', 'a lease is longer than 0; for example lease=30s')
    elseif held_slots then
        refuse('rate', 'at most one limit of a text is concurrent: the lower one is enough')
    end
    held_slots = true
    rule.burst, rule.period = limit.count, us_up('lease', limit.lease, limit.lease_parts)
end

function COMPILE.unlimited(rule) rule.burst = MOST end

function COMPILE.none(rule) rule.burst = 0 end

local function check_weight()
    if limit.weight and (limit.weight == 0 or limit.weight > WEIGHT_MOST) then
        refuse('weight', 'a weight is 1 to 1000; for example 300/s weight=3')
    end
end

-- "unlimited" and "none" have no rate.
local function read_limit()
    skip_spaces()
    limit = {column = {rate = at}}
    local open, behind = match(text, '^(%l+)()', at)
    if open == 'unlimited' or open == 'none' then
        at, limit.open, limit.algorithm = behind, open, open
    else
        read_rate()
    end
    while true do
        local from = at
        skip_spaces()
        if is_end() then break end
        if at == from then mistake(at, 'expected a space, ";" or the end') end
        read_option()
    end
    choose_algorithm()
    local rule = {kind = KIND[limit.algorithm], weight = limit.weight}
    rule.unit = rule.kind > UNLIMITED and (limit.unit or 'requests') or nil
    COMPILE[limit.algorithm](rule)
    check_weight()
    return rule
end

-- The guaranteed limit is the first of its level, and those behind it are its ceiling; so is the one with a weight.
local function check_first(plan)
    local first = #plan == 1 or plan.level[#plan] ~= plan.level[#plan - 1]
    if plan[#plan].guaranteed and not first then
        refuse('guaranteed', 'the guaranteed limit comes first, and its ceiling behind it; for example 5/s '
            .. 'guaranteed; 20/s')
    elseif plan[#plan].weight and not first then
        refuse('weight', 'the weight of a tenant is in its first limit; for example 300/s weight=3; 10k/h')
    end
end

-- The first weight of a text counts; the limit whose room is shared is the first by gcra of the last level.  A permit
-- is as many parts of a us as its burst allows.
local function find_weight(plan)
    for i = #plan, 1, -1 do
        local rule, level = plan[i], plan.level[i]
        if rule.weight and level < plan.levels then plan.weight, plan.weight_level = rule.weight, level end
        if rule.kind == GCRA and level == plan.levels then plan.shared = i end
    end
    if not plan.weight then return end
    local rule = plan[plan.shared or mistake(1, 'weights share a rate: expected a limit by gcra in their parent; for '
        .. 'example unlimited weight=2 under 400/s')]
    for bits = PARTS_BITS, 0, -1 do
        plan.parts = 2 ^ bits -- of a us
        plan.permit = muldiv(rule.permit, plan.parts, rule.per)
        if times(rule.burst, plan.permit) <= BURST_PARTS then
            if plan.permit >= WEIGHT_MOST then return end
            break
        end
    end
    mistake(1, 'this burst is too large for an engine to share it by weight; write a smaller one, for example '
        .. 'unlimited weight=2 under 400/s burst=100')
end

-- A parent owes whatever its tenants are guaranteed.
local function check_tenants(plan)
    if plan.levels == 1 then return end
    if plan.levels > LEVELS_MOST then mistake(1, 'a text has at most 8 limits, of up to 4 levels') end
    for i = 1, #plan do
        local rule = plan[i]
        if rule.kind == LOG or rule.kind == CONCURRENT then
            mistake(1, 'of tenants an engine keeps no sliding-log and no concurrent limit, which have keys of their '
                .. 'own; ask for these apart')
        end
        if rule.kind == GCRA and plan.level[i] > 1 then rule.debt = MOST - rule.top end
    end
    find_weight(plan)
end

function read_text(limits)
    local plan = {}
    text, at, logs, log_permits, held_slots = limits, 1, 0, 0, false
    plan.levels, plan.level = 1, {}
    repeat
        if #plan == LIMITS_MOST then mistake(at, 'a text holds at most 8 limits') end
        plan[#plan + 1], plan.level[#plan + 1] = read_limit(), plan.levels
        check_first(plan)
        local more, under = sub(text, at, at) == ';', find(text, '^under ', at)
        if more then at = at + 1 end
        if under then plan.levels, at = plan.levels + 1, at + 6 end
    until not (more or under)
    check_tenants(plan)
    for i = 1, #plan do
        if plan[i].kind == LOG then plan[i].debt = floor(LOG_REACH / logs) end
    end
    return plan
end

end

-- ---- what each kind of limit answers ------------------------------------------------------------------------------
--
-- A cell is {kind + 256 * words, permit, word..., burst =, per =}; what may stand behind its words is of no meaning.
-- Each kind has
--     adapt(rule, cell, now)               to this rule, and back where the clock was set back: then true
--     offer(rule, cell, now, cost, wait)   us until this call passes (0: now, NEVER), and until its start if it does
--     take, refuse, charge(rule, cell, now, cost)
--     give(rule, cell, now, taken, charged, unused)
--     room, full, idle(rule, cell, now)    permits that pass now; us until all is back; until it may be forgotten

local NEVER = EXACT -- no other wait is as long
local WORDS_2, WORDS_3, WORDS_7 = 2 * 256, 3 * 256, 7 * 256

local function nothing() end

local FORMAT, FORMAT_MOST = 2, 31 -- of a value: the byte behind "weir", which is no letter

-- As redis-cli reads it, so that it can be pasted into a command; cut where it is very long.
local function shown(key)
    local cut = #key > 140 and '...' or ''
    if key ~= '' and not find(key, '[^!-~]') and not find(key, '["\'\\]') then return sub(key, 1, 140) .. cut end
    local function in_hex(c) return format('\\x%02x', byte(c)) end
    return '"' .. gsub(gsub(sub(key, 1, 140), '["\\]', in_hex), '[^ -~]', in_hex) .. cut .. '"'
end

-- What this weir does not read is never taken for nothing.
local function foreign(key, value)
    local version = value and match(value, '^weir(.)')
    version = version and byte(version) or 0
    if version == 0 or version > FORMAT_MOST then
        fail('WEIRVALUE what is at %s was not written by weir: expected nothing, or a state of a limit; use another '
            .. 'key, for example weir:user:42', shown(key))
    elseif version <= FORMAT then
        fail('WEIRVALUE a state of weir, but damaged; to start afresh: DEL %s', shown(key))
    end
    fail('WEIRVALUE a state of a newer weir: format %d, and weir %s reads %d; to start afresh: DEL %s',
        version, VERSION, FORMAT, shown(key))
end

-- none and unlimited remember nothing.
local plain = {adapt = nothing, take = nothing, refuse = nothing, charge = nothing, give = nothing}

function plain.offer(rule, _, _, cost) return cost > rule.burst and NEVER or 0, 0 end

function plain.room(rule) return rule.kind == UNLIMITED and ALL or 0 end

function plain.full() return 0 end

plain.idle = plain.full

-- ---- gcra: seen, level; and once there were leases: epoch, epoch_end, lifetime, new, old ----

local gcra = {refuse = nothing}

-- Permits in leases: those of this epoch and of the one before.
local function leased(cell)
    return cell[1] == GCRA + WORDS_7 and min(cell[8] + cell[9], MOST) or 0
end

-- Not below what is out: who holds it may spend it all at once.
local function drain_to(rule, cell, now)
    local level = max(cell[4] - max(now - cell[3], 0) * rule.per, 0)
    cell[4] = max(level, times(leased(cell), rule.permit))
    cell[3] = now
end

local function end_epoch(rule, cell)
    drain_to(rule, cell, max(cell[6], cell[3]))
    cell[5], cell[6] = cell[5] + 1, cell[6] + cell[7]
    cell[8], cell[9] = 0, cell[8]
end

local function bring(rule, cell, now)
    if cell[1] == GCRA + WORDS_7 then
        for _ = 1, 2 do
            if cell[6] <= now and leased(cell) ~= 0 then end_epoch(rule, cell) end
        end
        if now >= cell[6] then
            local epochs = divide(now - cell[6], cell[7]) + 1
            cell[5], cell[6] = min(cell[5] + epochs, MOST), cell[6] + epochs * cell[7]
        end
    end
    drain_to(rule, cell, now)
end

local function brought(rule, cell, now)
    if cell[3] == now then return cell end
    cell = {unpack(cell)}
    bring(rule, cell, now)
    return cell
end

-- Us until the level is down to `level`, should nobody take anything; what is out drains once it is taken back.
local function time_to(rule, cell, level)
    local then_cell = cell
    if cell[1] ~= GCRA + WORDS_2 and leased(cell) > 0 then
        then_cell = {unpack(cell)}
        while times(leased(then_cell), rule.permit) > level do end_epoch(rule, then_cell) end
    end
    local above = then_cell[4] - level
    return then_cell[3] - cell[3] + (above > 0 and divide_up(above, rule.per) or 0)
end

-- Each cell says under which rule it was written: how long a permit is, and how many fit.  Of another rule as many
-- permits are used, but no more than this one's burst; what is above the burst is waited for or owed, and stays, too.
-- Cells of format 1 know only how much drained in a us (per): there it stays as long as it was.
local function rerule_mark(rule, cell)
    cell.burst, cell[2], cell.per = rule.fits, rule.permit, nil
end

local function rerule_needed(rule, cell)
    if cell.per then return cell.per ~= rule.per end
    if cell[2] == 0 or cell.burst == 0 then return false end
    return cell[2] ~= rule.permit or cell.burst ~= rule.fits
end

local function rerule_used(rule, cell, ticks)
    if cell.per then return times(divide_up(ticks, cell.per), rule.per) end
    local used = min(ticks, times(cell.burst, cell[2]))
    local kept = min(muldiv_up(used, rule.permit, cell[2]), rule.top)
    return min(kept + muldiv_up(ticks - used, rule.permit, cell[2]), MOST)
end

local function set_back(cell, now)
    local back = max(cell[3] - now, 0)
    cell[3] = cell[3] - back
    if cell[1] == GCRA + WORDS_7 then
        cell[7] = min(max(cell[7], 1), LIFETIME_MOST)
        cell[6] = min(max(cell[6] - back, 0), now + cell[7])
        cell[5] = fmod(cell[5], MOST)
    end
    return back > 0
end

function gcra.adapt(rule, cell, now)
    if cell[1] < 256 then
        cell[1], cell[3], cell[4] = GCRA + WORDS_2, now, 0
        rerule_mark(rule, cell)
        return false
    end
    if rerule_needed(rule, cell) then cell[4] = rerule_used(rule, cell, cell[4]) end
    rerule_mark(rule, cell)
    cell[4] = min(cell[4], MOST) -- not at the debt: callers may wait above it
    local back = set_back(cell, now)
    bring(rule, cell, now)
    return back
end

function gcra.offer(rule, cell, now, cost, wait)
    if cost > rule.burst then return NEVER, 0 end
    cell = brought(rule, cell, now)
    local ticks = cost * rule.permit
    local level = cell[4] + ticks
    if level <= rule.top then return 0, 0 end
    local late = time_to(rule, cell, rule.top - ticks)
    if leased(cell) > 0 then return late, 0 end -- a level cannot say that it drains only from then on
    return max(late - wait, divide_up(max(level - MOST, 0), rule.per), 0), late
end

function gcra.take(rule, cell, now, cost)
    if cell[3] ~= now then bring(rule, cell, now) end
    cell[4] = cell[4] + cost * rule.permit
end

function gcra.room(rule, cell, now)
    local left = rule.top - brought(rule, cell, now)[4]
    return left > 0 and divide(left, rule.permit) or 0
end

function gcra.full(rule, cell, now)
    return time_to(rule, brought(rule, cell, now), 0)
end

gcra.idle = gcra.full

function gcra.charge(rule, cell, now, cost)
    bring(rule, cell, now)
    cell[4] = min(cell[4] + times(cost, rule.permit), max(cell[4], rule.top + rule.debt))
end

-- As much of the slot has not drained, at the least: from its start on.
function gcra.give(rule, cell, now, taken, charged, unused)
    bring(rule, cell, now)
    if cell[4] > rule.top or leased(cell) > 0 then return end
    local left = max(times(charged, rule.permit) - max(now - taken, 0) * rule.per, 0)
    cell[4] = max(cell[4] - min(left, times(unused, rule.permit)), 0)
end

-- ---- hybrid: seen, lag + 2^52, level; a schedule that is kept, and a ceiling on how fast one may catch up ----

local hybrid = {refuse = nothing}
do
local ZERO = MOST -- the word of a lag of 0
local LAG_MOST = MOST + HYBRID_MOST

local function lines_at(rule, cell, now, need)
    if cell[1] < 256 then return ZERO + (rule.starts_full and rule.top or need), 0 end
    local elapsed = max(now - cell[3], 0)
    return min(cell[4] + elapsed * rule.per, LAG_MOST), max(cell[5] - elapsed * rule.per_fast, 0)
end

local function store_lines(rule, cell, now, lag, level)
    cell[1], cell[3], cell[4], cell[5] = HYBRID + WORDS_3, now, lag, level
    rerule_mark(rule, cell)
end

function hybrid.adapt(rule, cell, now)
    if cell[1] < 256 then return false end
    local back = cell[3] > now
    cell[3] = min(cell[3], now)
    cell[4], cell[5] = min(cell[4], LAG_MOST), min(cell[5], MOST)
    if rerule_needed(rule, cell) then
        local ahead, owed = max(cell[4] - ZERO, 0), max(ZERO - cell[4], 0)
        local lag = cell.per and times(divide(ahead, cell.per), rule.per) or muldiv(ahead, rule.permit, cell[2])
        local below = cell.per and times(divide_up(owed, cell.per), rule.per) or muldiv_up(owed, rule.permit, cell[2])
        cell[4] = ZERO + min(lag, HYBRID_MOST) - below
        cell[5] = rerule_used(rule, cell, cell[5])
    end
    rerule_mark(rule, cell)
    return back
end

function hybrid.offer(rule, cell, now, cost, wait)
    if cost > rule.burst then return NEVER, 0 end
    local ticks = cost * rule.permit
    local need = min(ticks, rule.top)
    local lag, level = lines_at(rule, cell, now, need)
    local by_lag = divide_up(max(ZERO + need - lag, 0), rule.per)
    local delay = max(by_lag, divide_up(max(level + need - rule.top, 0), rule.per_fast))
    local no_lag = divide_up(max(ticks - lag, 0), rule.per)
    local no_level = divide_up(max(level + ticks - MOST, 0), rule.per_fast)
    return max(delay - wait, no_lag, no_level, 0), delay
end

-- A limit that starts with a full pool gives it ahead of the schedule, and only the first permit of it is due.
function hybrid.late(rule, cell, now, cost, delay)
    local lag = lines_at(rule, cell, now, min(cost * rule.permit, rule.top))
    local due = ZERO + (rule.starts_full and rule.top or rule.permit)
    if lag >= due then return delay + divide(lag - due, rule.per) end
    return max(delay - divide_up(due - lag, rule.per), 0)
end

function hybrid.take(rule, cell, now, cost)
    local ticks = cost * rule.permit
    local lag, level = lines_at(rule, cell, now, min(ticks, rule.top))
    store_lines(rule, cell, now, lag - ticks, level + ticks)
end

function hybrid.room(rule, cell, now)
    local lag, level = lines_at(rule, cell, now, rule.permit)
    return divide(min(max(lag - ZERO, 0), max(rule.top - level, 0)), rule.permit)
end

function hybrid.full(rule, cell, now)
    if cell[1] < 256 then return 0 end
    local lag, level = lines_at(rule, cell, now, 0)
    return min(max(divide_up(max(ZERO + rule.top - lag, 0), rule.per), divide_up(level, rule.per_fast)), MOST)
end

hybrid.idle = hybrid.full

function hybrid.charge(rule, cell, now, cost)
    local wanted = times(cost, rule.permit)
    local lag, level = lines_at(rule, cell, now, min(wanted, rule.top))
    local by_lag, by_level = max(lag - (ZERO - rule.debt), 0), max(rule.top + rule.debt - level, 0)
    local ticks = min(wanted, by_lag, by_level)
    store_lines(rule, cell, now, lag - ticks, level + ticks)
end

-- At the fastest, what is more has drained since its start.
function hybrid.give(rule, cell, now, taken, charged, unused)
    local lag, level = lines_at(rule, cell, now, 0)
    if cell[1] < 256 or level > rule.top or lag < ZERO then return end
    local left = max(times(charged, rule.permit) - times(max(now - taken, 0), rule.per_fast), 0)
    local ticks = min(left, times(unused, rule.permit))
    store_lines(rule, cell, now, min(lag + ticks, LAG_MOST), max(level - ticks, 0))
end

end

-- ---- leaky: last in ms, level in thousandths; nginx's limit_req ----

local leaky = {refuse = nothing}
do

local function ms_of(now) return divide(now, 1000) end

local function ms_to_leak(rule, level)
    return muldiv_up(level, rule.third, rule.second)
end

local function level_at(rule, cell, ms)
    local since, level = max(ms - cell[3], 0), cell[4]
    if level == 0 or since >= ms_to_leak(rule, level) then return 0 end
    return level - muldiv(since, rule.second, rule.third)
end

-- As high as the bucket may be, if the call may wait.
local function highest(rule, wait)
    local ms = ms_of(wait) + 1
    if ms > ms_to_leak(rule, rule.top) then return rule.top end
    return min(rule.top, rule.calm + muldiv_up(ms, rule.second, rule.third) - 1)
end

function leaky.adapt(rule, cell, now)
    if cell[1] < 256 then
        cell[1], cell[3], cell[4] = LEAKY + WORDS_2, 0, 0
    elseif rerule_needed(rule, cell) then
        cell[4] = rerule_used(rule, cell, cell[4])
    end
    rerule_mark(rule, cell)
    local last = cell[3]
    cell[3], cell[4] = min(last, ms_of(now)), min(cell[4], rule.top + rule.debt)
    return last > cell[3]
end

function leaky.offer(rule, cell, now, cost, wait)
    local top, poured = highest(rule, wait), cost * 1000
    if cost > rule.burst or poured > top then return NEVER, 0 end
    local from, level = now, level_at(rule, cell, ms_of(now))
    if level > top - poured then
        local ms = cell[3] + ms_to_leak(rule, cell[4] - (top - poured))
        from, level = ms * 1000, level_at(rule, cell, ms)
    end
    local delay = from - now + muldiv(max(level + poured - rule.calm, 0), rule.third, rule.second) * 1000
    return max(delay - wait, from - now, 0), delay
end

function leaky.take(rule, cell, now, cost)
    local ms = ms_of(now)
    cell[4] = level_at(rule, cell, ms) + cost * 1000
    cell[3] = ms
end

function leaky.room(rule, cell, now)
    return divide(max(highest(rule, 0) - level_at(rule, cell, ms_of(now)), 0), 1000)
end

-- From the words: what was rounded down is not lost before somebody asks.
function leaky.full(rule, cell, now)
    return max((cell[3] + ms_to_leak(rule, cell[4])) * 1000 - now, 0)
end

leaky.idle = leaky.full

function leaky.charge(rule, cell, now, cost)
    local ms = ms_of(now)
    local level = level_at(rule, cell, ms)
    cell[3], cell[4] = ms, level + min(cost, divide(rule.top + rule.debt - level, 1000)) * 1000
end

-- Of a slot that starts no more is left in the bucket than `calm`; the rest has leaked, and been used.
function leaky.give(rule, cell, now, taken, charged, unused)
    local ms, start = ms_of(now), ms_of(taken)
    if level_at(rule, cell, ms) > highest(rule, 0) then return end
    local since, slot = ms - start, min(times(charged, 1000), rule.calm)
    if since >= ms_to_leak(rule, slot) then return end
    local left = slot - muldiv_up(since, rule.second, rule.third)
    cell[4] = max(cell[4] - min(times(unused, 1000), left), 0)
end

end

-- ---- fixed-window: end, count ----

local fixed = {}
do

local function counted(cell, now)
    return now < cell[3] and cell[4] or 0
end

function fixed.adapt(rule, cell, now)
    if cell[1] < 256 then cell[1], cell[2], cell[3], cell[4] = FIXED + WORDS_2, 0, 0, 0 end
    local ends = cell[3]
    cell[3], cell[4] = min(ends, now + max(rule.period, rule.block)), min(cell[4], MOST)
    cell.burst = 0 -- a mark has one
    return ends > cell[3]
end

function fixed.offer(rule, cell, now, cost)
    if cost > rule.burst then return NEVER, 0 end
    return counted(cell, now) + cost <= rule.burst and 0 or cell[3] - now, 0
end

function fixed.take(rule, cell, now, cost)
    local count = counted(cell, now)
    if now >= cell[3] then cell[3] = now + rule.period - (rule.aligned and fmod(now, rule.period) or 0) end
    cell[4] = min(count + cost, MOST)
end

fixed.charge = fixed.take

-- With block= the first excess of a window moves its end; what follows does not move it again.
function fixed.refuse(rule, cell, now, cost)
    local blocked = counted(cell, now) > rule.burst
    if not rule.counts_refused then return end
    fixed.take(rule, cell, now, cost)
    if blocked or rule.block == 0 then return end
    cell[4], cell[3] = max(cell[4], min(rule.burst + 1, MOST)), max(cell[3], now + rule.block)
end

function fixed.room(rule, cell, now)
    return max(rule.burst - counted(cell, now), 0)
end

function fixed.full(_, cell, now)
    return max(cell[3] - now, 0)
end

fixed.idle = fixed.full

-- Windows do not overlap, so a call that started in this one was counted in it; a block only has an end.
function fixed.give(rule, cell, now, taken, charged, unused)
    local here = now < cell[3] and taken < cell[3] and cell[3] - taken <= rule.period
    local blocked = rule.block ~= 0 and cell[4] > rule.burst
    local given = min(unused, charged, cell[4])
    local left = cell[4] - given
    -- A window that is not used was not opened, and else its first call leaves a permit used.
    local opened = given == charged and cell[3] - taken == rule.period and not rule.aligned
    if not here or blocked then return end
    cell[4] = opened and left ~= 0 and now > taken and left + 1 or left
    if opened and left == 0 then cell[3] = 0 end
end

end

-- ---- sliding-window: ends, previous, current; of the window before, the share that is still in sight counts ----

local sliding = {refuse = nothing}
do

function sliding.adapt(rule, cell, now)
    if cell[1] < 256 then cell[1], cell[2], cell[3], cell[4], cell[5] = SLIDING + WORDS_3, 0, 0, 0, 0 end
    local ends = cell[3]
    cell[3] = min(ends, now + rule.period)
    cell[4], cell[5] = min(cell[4], MOST), min(cell[5], MOST)
    return ends > cell[3]
end

local function counters_at(rule, cell, now)
    local ends, previous, current, period = cell[3], cell[4], cell[5], rule.period
    if now < ends then return ends, previous, current end
    if current ~= 0 and now - ends < period then return ends + period, current, 0 end
    return now + period - fmod(now, period), 0, 0
end

local function weighted(rule, cell, now)
    local ends, previous, current = counters_at(rule, cell, now)
    return min(muldiv(previous, ends - now, rule.period) + current, MOST)
end

-- How much of a window is left when at most `room` of so many permits count; 0: none.
local function left_when(rule, permits, room)
    if permits <= room then return rule.period end
    return muldiv_up(room + 1, rule.period, permits) - 1
end

-- Until `cost` more fit: in the next window, or in this one.
local function time_until(rule, cell, now, cost)
    local ends, previous, current = counters_at(rule, cell, now)
    local room = max(rule.burst - cost, 0)
    if current > room then return ends - now + rule.period - left_when(rule, current, room) end
    return max(ends - now - left_when(rule, previous, room - current), 0)
end

function sliding.offer(rule, cell, now, cost)
    if cost > rule.burst then return NEVER, 0 end
    return weighted(rule, cell, now) + cost <= rule.burst and 0 or time_until(rule, cell, now, cost), 0
end

function sliding.take(rule, cell, now, cost)
    local ends, previous, current = counters_at(rule, cell, now)
    cell[3], cell[4], cell[5] = ends, previous, min(current + cost, MOST)
end

function sliding.room(rule, cell, now)
    return max(rule.burst - weighted(rule, cell, now), 0)
end

function sliding.full(rule, cell, now)
    return time_until(rule, cell, now, rule.burst)
end

-- A clock that went back, or another period, may have moved the windows from where a fresh one has them: then when the
-- one after the last is over.
function sliding.idle(rule, cell, now)
    local over = fmod(cell[3], rule.period) == 0 and 0 or max(cell[3] + rule.period - now, 0)
    return max(sliding.full(rule, cell, now), over)
end

function sliding.charge(rule, cell, now, cost)
    sliding.take(rule, cell, now, min(cost, max(rule.burst + rule.debt - weighted(rule, cell, now), 0)))
end

-- As if it had never been counted; what was decided in between was decided with more.
function sliding.give(rule, cell, _, taken, charged, unused)
    local before_end = max(cell[3] - taken, 0)
    if before_end == 0 or before_end > 2 * rule.period then return end
    local counter = before_end <= rule.period and 5 or 4
    cell[counter] = max(cell[counter] - min(unused, charged), 0)
end

end

-- ---- sliding-log: newest, sum, gone, slots, first, count, 0; and behind the cell a ring of entries ----
--
-- A call is one entry whatever it costs: its time, and how many permits there were up to it, modulo 2^32.  So what is
-- later than a time, and which call has the n-th permit, is found by halves.  The newest entry is in the cell.  Of a
-- long value most is not read: the cell has `value`, as much as was, and `key` for the rest; and what is to be written:
-- pushes (time, added), or gives (from, given, removes).  src/redis/micro/log.c draws it.

local log = {}
do

local ENTRY, RING, SUMS, SLOTS_MOST = 12, 80, 2 ^ 32, LOG_MOST + 1

local function slot_of(cell, index)
    local slot = cell[7] + index
    return slot >= cell[6] and slot - cell[6] or slot
end

-- By its place in the ring, the oldest is 0; as it will be.
local function entry_at(cell, index)
    if cell.pushes and index == cell[8] - 1 then return cell.time, cell.added end
    local moved = cell.gives and index >= cell.from
    local offset = RING + ENTRY * slot_of(cell, moved and cell.removes and index + 1 or index)
    local value, from = cell.value, offset + 1
    if offset + ENTRY > #value then value, from = call('GETRANGE', cell.key, offset, offset + ENTRY - 1), 1 end
    local time, sum = unpack_bytes('<I8I4', value, from)
    if moved then sum = (sum - cell.given) % SUMS end
    return min(time, MOST), sum
end

function log.is_sound(cell, size)
    local slots, first, count, entries = cell[6], cell[7], cell[8], (size - RING) / ENTRY
    if cell[4] >= SUMS or cell[5] >= SUMS or slots > SLOTS_MOST or count > slots then return false end
    if first ~= 0 and first >= slots then return false end
    return entries % 1 == 0 and entries >= min(first + count, slots) and entries <= slots
end

local function kept(cell)
    return cell[1] < 256 and 0 or (cell[4] - cell[5]) % SUMS
end

local function newest(cell)
    return kept(cell) == 0 and 0 or cell[3]
end

local function is_later(_, time, _, than) return time > than end

local function has_more(cell, _, sum, permits) return (sum - cell[5]) % SUMS > permits end

-- The first in the ring for which it holds, as for all behind it; the count if there is none.  Mostly it is one of the
-- oldest, so steps grow from there.
local function first(cell, holds, of)
    local count = cell[1] < 256 and 0 or cell[8]
    local low, high, step = 0, 0, 1
    while high < count do
        local time, sum = entry_at(cell, high)
        if holds(cell, time, sum, of) then break end
        low, high, step = high + 1, high + step, step * 2
    end
    high = min(high, count)
    while low < high do
        local middle = floor((low + high) / 2)
        local time, sum = entry_at(cell, middle)
        if holds(cell, time, sum, of) then high = middle else low = middle + 1 end
    end
    return low
end

local function sum_before(cell, index)
    if index == 0 then return cell[5] end
    local _, sum = entry_at(cell, index - 1)
    return sum
end

local function in_sight(rule, cell, now)
    if now < rule.period then return kept(cell) end
    local out = now - rule.period
    if newest(cell) <= out then return 0 end
    return (cell[4] - sum_before(cell, first(cell, is_later, out))) % SUMS
end

-- The time of the permit that is so far back: 1 is the newest, up to what is kept.
local function stamp(cell, back)
    local index = first(cell, has_more, kept(cell) - back)
    return index == cell[8] and newest(cell) or (entry_at(cell, index))
end

local function passes_at(rule, cell, permits)
    local back, size = rule.burst - permits + 1, kept(cell)
    local fits = back <= size and stamp(cell, back) + rule.period or 0
    if rule.gap == 0 or permits == 0 or size == 0 then return fits end
    return max(fits, newest(cell) + rule.gap)
end

function log.adapt(_, cell)
    if cell[1] >= 256 then cell[3] = min(cell[3], MOST) end
    return false
end

function log.offer(rule, cell, now, cost)
    if cost > rule.burst then return NEVER, 0 end
    return max(passes_at(rule, cell, cost) - now, 0), 0
end

local function empty(cell)
    if cell[1] < 256 then
        cell[1], cell[2], cell[3], cell[6], cell[9] = LOG + WORDS_7, 0, 0, 0, 0
    end
    cell[4], cell[5], cell[7], cell[8] = 0, 0, 0, 0
end

-- Of the oldest, fewer than are kept.
local function forget_oldest(rule, cell, permits)
    local gone = permits == 0 and 0 or first(cell, has_more, permits)
    cell[5] = (cell[5] + permits) % SUMS
    cell[7] = gone == cell[8] and 0 or slot_of(cell, gone)
    cell[8] = min(cell[8] - gone, rule.burst) -- only a damaged one has more
end

-- In order: where the clock went back, at the newest one's time.  What is out of sight goes.
function log.take(rule, cell, now, permits)
    local at, add, before = max(now, newest(cell)), min(permits, rule.burst), kept(cell)
    local stale = max(before - in_sight(rule, cell, at), 0)
    local drop = max(stale, before + add - rule.burst, 0)
    if drop >= before then empty(cell) else forget_oldest(rule, cell, drop) end
    if drop < before and cell[3] ~= at then
        cell.pushes, cell.time, cell.added, cell[8] = true, cell[3], cell[4], cell[8] + 1
    end
    cell[3], cell[4] = at, (cell[4] + add) % SUMS
end

log.charge = log.take

function log.refuse(rule, cell, now, cost)
    if cost ~= 0 then log.take(rule, cell, now, cost) end
end

-- With a gap one call passes, and whoever asks for as many as pass means calls.
function log.room(rule, cell, now)
    local room = max(rule.burst - in_sight(rule, cell, now), 0)
    if rule.gap == 0 then return room end
    if kept(cell) ~= 0 and newest(cell) + rule.gap > now then return 0 end
    return min(room, 1)
end

function log.full(rule, cell, now)
    if kept(cell) == 0 then return 0 end
    return max(newest(cell) + max(rule.period, rule.gap) - now, 0)
end

log.idle = log.full

local function give_newest(cell, permits, all)
    cell[4] = (cell[4] - permits) % SUMS
    if not all then return end
    if cell[8] == 0 then
        cell[1] = LOG
    else
        cell[3] = entry_at(cell, cell[8] - 1)
        cell[8] = cell[8] - 1
    end
end

-- Not of what is further back than what may be written at once.
function log.give(rule, cell, _, taken, charged, unused)
    if kept(cell) == 0 or taken > cell[3] then return end
    local count, index = cell[8], taken == 0 and 0 or first(cell, is_later, taken - 1)
    local time, sum = cell[3], cell[4]
    if index < count then time, sum = entry_at(cell, index) end
    if time ~= taken or count - index > rule.debt then return end
    local there = (sum - sum_before(cell, index)) % SUMS
    local permits = min(unused, charged, there)
    if index == count then return give_newest(cell, permits, permits == there) end
    cell.gives, cell.removes, cell.from, cell.given = permits ~= 0, permits == there, index, permits
    cell[4] = (cell[4] - permits) % SUMS
    if permits == there then cell[8] = count - 1 end
end

-- ---- what is written ----

local function read_slots(key, slot, slots)
    return call('GETRANGE', key, RING + slot * ENTRY, RING + (slot + slots) * ENTRY - 1)
end

local function write_slots(key, slot, bytes)
    if bytes ~= '' then call('SETRANGE', key, RING + slot * ENTRY, bytes) end
end

-- The shorter part is moved, so that what is free lies between the newest and the oldest.
local function add_slots(key, cell)
    local slots, before = cell[6], cell[7]
    local behind, more = slots - before, min(2 * slots + 4, SLOTS_MOST)
    cell[6] = more
    if before == 0 then return end
    if before <= behind and before <= more - slots then
        write_slots(key, slots, read_slots(key, 0, before))
    else
        write_slots(key, more - behind, read_slots(key, before, behind))
        cell[7] = more - behind
    end
end

local LAYOUT_OF = {} -- by how many entries

local function with_less(bytes, given)
    local parts = {}
    for at = 1, #bytes, 64 * ENTRY do
        local entries = min(64, (#bytes - at + 1) / ENTRY)
        LAYOUT_OF[entries] = LAYOUT_OF[entries] or '<' .. rep('I8I4', entries)
        local numbers = {unpack_bytes(LAYOUT_OF[entries], bytes, at)}
        for i = 2, 2 * entries, 2 do numbers[i] = (numbers[i] - given) % SUMS end
        parts[#parts + 1] = pack(LAYOUT_OF[entries], unpack(numbers, 1, 2 * entries))
    end
    return concat(parts)
end

local function write_given(key, cell)
    local entries, from = cell[8] - cell.from, cell.removes and cell.from + 1 or cell.from
    local read, written = slot_of(cell, from), slot_of(cell, cell.from)
    local to_end, to_write = min(entries, cell[6] - read), min(entries, cell[6] - written)
    local bytes = entries == 0 and '' or read_slots(key, read, to_end)
    if to_end < entries then bytes = bytes .. read_slots(key, 0, entries - to_end) end
    bytes = with_less(bytes, cell.given)
    write_slots(key, written, sub(bytes, 1, to_write * ENTRY))
    write_slots(key, 0, sub(bytes, to_write * ENTRY + 1))
end

-- In the value that is there.
function log.write(key, cell, head)
    if cell[8] > cell[6] then add_slots(key, cell) end
    if cell.pushes then write_slots(key, slot_of(cell, cell[8] - 1), pack('<I8I4', cell.time, cell.added)) end
    if cell.gives then write_given(key, cell) end
    call('SETRANGE', key, 0, head(cell))
end

-- A sorted set with a member "stamp:000000" for each permit, as an older weir kept it: the value that it would be now.
-- Up to 64 members are looked at by all logs of a text, evenly by their places; a permit counts until the next is out.
function log.read_old(key, rule, head)
    local permits = try('ZCARD', key)
    if type(permits) ~= 'number' then return nil end
    local most = rule.kind == LOG and rule.debt * 64 / LOG_REACH or 1
    local looked, slots, newest_time, sum, parts = min(permits, floor(most)), 0, false, 0, {}
    for i = 1, looked do
        local reached = floor(i * permits / looked)
        local member = call('ZRANGE', key, reached - 1, reached - 1)[1]
        local time = #member < 32 and tonumber(match(member, '^(%d+):%d%d%d%d%d%d$'))
        if not time or time > EXACT or time < (newest_time or 0) then return nil end
        if newest_time and time ~= newest_time then
            slots = slots + 1
            parts[slots] = pack('<I8I4', newest_time, sum)
        end
        newest_time, sum = time, reached
    end
    if permits >= 2 ^ 31 then return nil end
    return pack('<I8I8I8I8I8I8I8I8I8I8', head, LOG + WORDS_7, 0, newest_time, sum, 0, slots, 0,
        slots, 0) .. concat(parts)
end

end

-- ---- concurrent: slots, a sorted set by their ends ----
--
-- The set has a clock of its own, the engine's, moved on where that went back; its first member, weir:AHEAD, says how
-- far ahead it is, and by its score when it was written last.  The others are ID, and ID:1 ... of a call that took
-- several.  The cell has `key`; at, ahead, was (ahead, before now); held, over: slots with a lease, and those whose
-- lease is over; last: the end of the last one; and what is to be written: added and ends, freed.

local concurrent = {refuse = nothing}
do

local function name_of(id, i)
    return i == 0 and id or id .. ':' .. format('%d', i)
end

-- By its own clock.
local function begin(key, now, seen, ahead)
    local is_ahead = max(ahead, seen - now)
    return {CONCURRENT, 0, key = key, was = ahead, ahead = is_ahead, at = now + is_ahead, held = 0, over = 0, last = 0}
end

local function at_place(key, place)
    local found = call('ZRANGE', key, place, place, 'WITHSCORES')
    return found[1], tonumber(found[2] or 0)
end

-- nil: there is something else, or, 0, nothing.
function concurrent.clock_of(key)
    local found = try('ZRANGE', key, 0, 0, 'WITHSCORES')
    local ahead = not found.err and match(found[1] or '', '^weir:(%d+)$')
    if not ahead or tonumber(ahead) > MOST or format('%.0f', ahead) ~= ahead then
        return nil, not found.err and #found
    end
    return tonumber(ahead), max(-tonumber(found[2]), 0)
end

function concurrent.read(key, now)
    local ahead, seen = concurrent.clock_of(key)
    if not ahead then return seen == 0 and begin(key, now, 0, 0) or nil end
    local cell = begin(key, now, seen, ahead)
    cell.held = call('ZCOUNT', key, format('(%.0f', cell.at), '+inf')
    cell.over = call('ZCARD', key) - cell.held - 1
    if cell.held > 0 then
        local _, last = at_place(key, -1)
        cell.last = last
    end
    return cell
end

function concurrent.anew(key, now) return begin(key, now, 0, 0) end

function concurrent.adapt(_, cell) return cell.ahead ~= cell.was end

local function free(rule, cell) return max(rule.burst - cell.held, 0) end

function concurrent.offer(rule, cell, _, cost)
    if cost > rule.burst then return NEVER, 0 end
    if cost <= free(rule, cell) then return 0, 0 end
    local _, ends = at_place(cell.key, cell.over + cell.held + cost - rule.burst)
    return max(ends - cell.at, 1), 0
end

function concurrent.take(rule, cell, _, cost)
    cell.added, cell.ends, cell.held = cost, cell.at + rule.period, cell.held + cost
    cell.last = max(cell.last, cell.ends)
end

function concurrent.charge(rule, cell, now, cost)
    local taken = min(cost, free(rule, cell))
    if taken > 0 then concurrent.take(rule, cell, now, taken) end
end

concurrent.room = free

function concurrent.full(_, cell)
    return cell.held == 0 and 0 or max(cell.last - cell.at, 0)
end

concurrent.idle = concurrent.full

function concurrent.give(_, cell, _, _, charged, unused) cell.freed = min(unused, charged) end

-- ---- what is held under an id, and what is written ----

-- They end together, and go from the last one on.
function concurrent.count(cell, id)
    local found = 0
    while tonumber(call('ZSCORE', cell.key, name_of(id, found)) or 0) > cell.at do found = found + 1 end
    return found
end

local function put(cell, id, slots)
    local words = {format('%.0f', -cell.at), 'weir:' .. format('%.0f', cell.ahead)}
    if cell.ahead ~= cell.was then call('ZREM', cell.key, 'weir:' .. format('%.0f', cell.was)) end
    for i = 0, slots - 1 do
        words[#words + 1] = format('%.0f', cell.ends)
        words[#words + 1] = name_of(id, i)
        if #words >= 1000 then
            call('ZADD', cell.key, unpack(words))
            words = {}
        end
    end
    if #words > 0 then call('ZADD', cell.key, unpack(words)) end
end

-- The us, and what no other node would choose: where a table is in memory; one further where there is such a slot.
local function new_id(cell, now)
    local us, part = now, fmod(tonumber(match(tostring({}), '%x+$') or '0', 16) / 16, ID_PARTS)
    while true do
        local id = format('%.0f%03d', us, part)
        if not call('ZSCORE', cell.key, id) then return id end
        part = part + 1
        if part >= ID_PARTS then us, part = us + 1, 0 end
    end
end

function concurrent.write(rule, cell, now, until_ms)
    local gone = min(cell.over, max(cell.held + cell.over - rule.burst, 0))
    local id = cell.added and new_id(cell, now)
    if gone > 0 then call('ZREMRANGEBYRANK', cell.key, 1, gone) end
    put(cell, id, cell.added or 0)
    call('PEXPIREAT', cell.key, until_ms)
    return id
end

-- When nothing is held any more there is nothing to be kept.
function concurrent.free(cell, id, slots)
    local there = concurrent.count(cell, id)
    for i = there - 1, max(there - slots, 0), -1 do call('ZREM', cell.key, name_of(id, i)) end
    if there > 0 and there <= slots and cell.held <= there then call('UNLINK', cell.key) end
    return there
end

function concurrent.renew(rule, cell, id)
    local there = concurrent.count(cell, id)
    if there == 0 then return 0 end
    cell.ends = cell.at + rule.period
    put(cell, id, there)
    local _, last = at_place(cell.key, -1)
    call('PEXPIREAT', cell.key, format('%d', divide_up(last - cell.ahead, 1000)))
    return 1
end

end

local KINDS = {
    [NONE] = plain, [UNLIMITED] = plain, [GCRA] = gcra, [HYBRID] = hybrid, [LEAKY] = leaky, [FIXED] = fixed,
    [SLIDING] = sliding, [LOG] = log, [CONCURRENT] = concurrent,
}

-- ---- several limits, all or none ----------------------------------------------------------------------------------
--
-- Every limit is asked first; only if all let the call pass is each charged.  So nothing has to be undone, and after a
-- refusal every cell is as it was, but where refusals are counted.

-- The question that is being answered; another one begins where the engine's next call does.
local plan, cells, now, wait
local cost, waits = {}, {}
local longest, retry -- which limit has the longest wait, the first of them; and how long that is

-- ---- tenants: src/core/tenants.h says who pays ----

local by -- the level by whose guarantee a call passes; plan.levels + 1: it borrows

-- And who gets what is idle: a mark of each tenant and of their parent, as a cell at their key, says how far their
-- finish and lead are ahead of now, in parts of a us; nil: there is none at any key.
local marks
local weights = {}
do
local fair_cost, fair_lead, fair_start -- of a call with a weight
local AHEAD, BEHIND = 64, 4

local function ahead_of(mark)
    return mark and max(mark[4] - max(now - mark[3], 0) * mark[2], 0) or 0
end

-- To this time; those that have run out are no more.
function weights.bring()
    for i, mark in pairs(marks) do
        mark[3], mark[4] = min(mark[3], now), min(mark[4], MOST)
        if ahead_of(mark) == 0 then marks[i] = nil end
    end
    if not next(marks) then marks = nil end
end

-- Us until the last of them has run out.
function weights.idle()
    local idle = 0
    for _, mark in pairs(marks) do idle = max(idle, divide_up(ahead_of(mark), mark[2])) end
    return idle
end

local function mark_at(level)
    local mark = marks and marks[level]
    return mark and mark[2] == plan.parts and ahead_of(mark) or 0
end

-- Permits that the shared limit has to have beside the cost for the call to borrow.
function weights.spare(i)
    local lead, finish = mark_at(plan.levels), mark_at(plan.weight_level)
    local burst = plan[i].burst * plan.permit
    local behind = divide(burst, BEHIND)
    if lead <= behind then lead = burst * AHEAD end
    fair_cost, fair_lead = times(cost[i], plan.permit), lead
    fair_start = max(finish, lead - behind)
    local spare = divide(max(burst - fair_cost, 0), 2) - 2 * max(lead - fair_start, 0)
    return divide(max(spare, 0), plan.permit)
end

local function set_mark(level, ahead)
    marks[level] = {FIXED + WORDS_2, plan.parts, now, min(ahead, MOST), burst = 1}
end

-- Of a call that was lent something by no guarantee.
function weights.count()
    if by <= plan.levels or cost[plan.shared] == 0 then return end
    marks = marks or {}
    set_mark(plan.weight_level, fair_start + max(divide(fair_cost, plan.weight), 1))
    set_mark(plan.levels, max(fair_lead, fair_start))
end

-- The last cell of a value, where no limit wrote it.
function weights.split(found)
    local last = found[#found]
    if #found == 1 or last[1] ~= FIXED + WORDS_2 or last.burst ~= 1 or last[2] == 0 then return end
    found[#found] = nil
    return last
end

end

-- At the last level it is a limit like any other.
local function is_guaranteed(i)
    return plan[i].guaranteed and plan.level[i] < plan.levels
end

-- What a call by this level's guarantee needs to have room.
local function is_needed(i, level)
    if is_guaranteed(i) then return plan.level[i] == level end
    return plan.level[i] <= level
end

local function is_lent(i) return plan.levels > 1 and is_guaranteed(i) and plan.level[i] < by end

-- Us until it can be owed; others than gcra keep what they can.
local function owed_after(i)
    local rule, cell = plan[i], cells[i]
    if rule.kind == NONE then return NEVER end
    if rule.kind ~= GCRA then return 0 end
    local ticks = times(cost[i], rule.permit)
    if ticks == MOST then return NEVER end
    return cell[4] + ticks <= MOST and 0 or time_to(rule, cell, MOST - ticks)
end

-- The limit that is waited for, of those that the call needs; or whose debt is.
local function find_longest()
    local longest_wait = 0
    for i = 1, #plan do
        local waits_for = owed_after(i)
        if is_needed(i, by) then waits_for = max(waits_for, waits[i]) end
        if waits_for > longest_wait then longest, longest_wait = i, waits_for end
    end
end

local function choose()
    local plain_wait, held_wait, by_level = {}, 0, {}
    for level = 1, plan.levels do plain_wait[level] = 0 end
    for i = 1, #plan do
        local level = plan.level[i]
        if is_guaranteed(i) then by_level[level] = waits[i]
        else plain_wait[level] = max(plain_wait[level], waits[i]) end
        held_wait = max(held_wait, owed_after(i))
    end
    local so_far, best = 0, nil
    longest, by = 1, plan.levels + 1
    for level = 1, plan.levels do
        so_far = max(so_far, plain_wait[level])
        local passes = by_level[level] and max(so_far, held_wait, by_level[level])
        if passes and (not best or passes < best) then best, by = passes, level end
    end
    if not best or so_far < best then best, by = so_far, plan.levels + 1 end
    retry = best
    find_longest()
end

-- Asks all; and, of the first, the way to its start.
local function ask_all()
    local delay
    longest, retry = 1, 0
    for i = 1, #plan do
        local rule = plan[i]
        local passes, starts = rule.does.offer(rule, cells[i], now, cost[i], wait)
        waits[i], delay = passes, delay or starts
        if passes > retry then longest, retry = i, passes end
    end
    if plan.levels == 1 then return delay end
    local shared = plan.weight and plan.shared
    local spare = shared and weights.spare(shared) or 0
    if spare ~= 0 then waits[shared] = gcra.offer(plan[shared], cells[shared], now, cost[shared] + spare, wait) end
    choose()
    return 0
end

-- true: a limit has something to remember of it.
local function commit(verb)
    local remembers = false
    for i = 1, #plan do
        local rule = plan[i]
        if cost[i] ~= 0 and rule.does ~= plain and not is_lent(i) then
            local owed = plan.level[i] > by and rule.kind ~= GCRA
            rule.does[owed and 'charge' or verb](rule, cells[i], now, cost[i])
            remembers = true
        end
    end
    return remembers
end

-- Those that count their refusals count this one; then all are asked again how long the same call has to wait.
local function count_refusals()
    local counted_one = false
    for i = 1, #plan do
        local rule = plan[i]
        if waits[i] ~= 0 and rule.counts_refused then
            rule.does.refuse(rule, cells[i], now, cost[i])
            counted_one = true
        end
    end
    if counted_one then ask_all() end
    return counted_one
end

-- The first that may never pass this cost.
local function find_never()
    for i = 1, #plan do
        if cost[i] > plan[i].burst then return i end
    end
end

local function left_of(i, paid)
    local left = plan[i].does.room(plan[i], cells[i], now)
    if paid and left ~= ALL and not is_lent(i) then return max(left - cost[i], 0) end
    return left
end

-- The most that would pass: by a guarantee, or borrowed.
local function least_left_of_tenants(paid)
    local tightest, remaining
    for level = 1, plan.levels + 1 do
        local limit, least, stands = 1, ALL, level > plan.levels
        for i = 1, #plan do
            stands = stands or (is_guaranteed(i) and plan.level[i] == level)
            if is_needed(i, level) and left_of(i, paid) < least then limit, least = i, left_of(i, paid) end
        end
        if stands and (not remaining or least > remaining) then tightest, remaining = limit, least end
    end
    return tightest, remaining
end

-- The tightest limit, the first of them, and what is left of it; `paid`: as if that had been taken, too.
local function least_left(paid)
    if plan.levels > 1 then return least_left_of_tenants(paid) end
    local tightest, remaining = 1, ALL
    for i = 1, #plan do
        local left = left_of(i, paid)
        if left < remaining then tightest, remaining = i, left end
    end
    return tightest, remaining
end

local function full_of(i)
    return plan[i].does.full(plan[i], cells[i], now)
end

-- From when on all may be forgotten.
local function idle_at()
    local idle = 0
    for i = 1, #plan do idle = max(idle, plan[i].does.idle(plan[i], cells[i], now)) end
    if marks then idle = max(idle, weights.idle()) end
    return now + idle
end

-- The answer to a refusal.
local function refusal()
    local _, remaining = least_left()
    local never = retry == NEVER and (plan.levels > 1 and longest or find_never())
    local limit_at, again = never or longest, never and 0 or min(retry, ALL)
    return {never and 'never' or 'deny', limit_at - 1, remaining, 0, again, max(full_of(limit_at), again), now, 0}
end

-- ---- keys and values ----------------------------------------------------------------------------------------------

local HEAD, COUNT_OF = {}, {} -- the first word of a value, by its cells; and back
local LAYOUT, LAYOUT_OF_FIRST = {}, {} -- of a cell, by its words; of a head with a cell behind it
local HEAD_NONE = 0x72696577 + FORMAT * 2 ^ 32 -- "weir" 2
local HEAD_OLD, OLD_COUNT_OF = HEAD_NONE - 2 ^ 32, {} -- of format 1
local HEAD_OF_GCRA, GCRA_LAYOUT, GCRA_SIZE = '<I8I8I8', '<c24I8I8', 40 -- of one alone: up to permit; all of it

-- By the first word of a cell: its kind and how many words there are.
local KIND_OF, WORDS_OF = {}, {}

local function allow(kind, words)
    KIND_OF[kind + 256 * words], WORDS_OF[kind + 256 * words] = kind, words
end

local function prepare_layouts()
    for count = 1, LIMITS_MOST do
        HEAD[count] = HEAD_NONE + count * 2 ^ 40
        COUNT_OF[HEAD[count]], OLD_COUNT_OF[HEAD_OLD + count * 2 ^ 40] = count, count
    end
    for words = 0, WORDS_MOST do
        LAYOUT[words], LAYOUT_OF_FIRST[words] = '<I8I8' .. rep('I8', words), '<I8I8I8' .. rep('I8', words)
    end
    for kind = NONE, LOG do allow(kind, 0) end
    allow(GCRA, 2)
    allow(GCRA, 7)
    allow(HYBRID, 3)
    allow(LEAKY, 2)
    allow(FIXED, 2)
    allow(SLIDING, 3)
    allow(LOG, 7)
    allow(CONCURRENT, 0)
end

local function is_sound(cell)
    local words = WORDS_OF[cell[1]]
    if not words or cell[2] > MOST then return false end
    if cell[2] == 0 and words ~= 0 and KIND_OF[cell[1]] <= HYBRID then return false end
    for i = 3, words + 2 do
        if cell[i] > EXACT then return false end
    end
    return true
end

-- Takes the burst off the first word; of format 1 there is none, and what is permit now was per.
local function split_cell(cell, is_old)
    local first = cell[1] % 65536
    cell.burst, cell[1] = (cell[1] - first) / 65536, first
    if cell.burst > (is_old and 0 or BURST_MOST) or not is_sound(cell) then return false end
    if is_old then
        local is_line = first >= 256 and (KIND_OF[first] == GCRA or KIND_OF[first] == HYBRID)
        cell.per, cell[2] = is_line and cell[2] or nil, 0
    end
    return true
end

-- The cells of a value, and a mark; an error where it is none that this weir reads.  An older format is converted in
-- here.  whole: its size, of which this may be a part.
local function read_value(key, value, whole)
    local position, size, found, logs = 9, #value, {}, false
    local head = size > 8 and unpack_bytes('<I8', value)
    local count = head and (COUNT_OF[head] or OLD_COUNT_OF[head]) or foreign(key, value)
    for i = 1, count do
        local words = byte(value, position + 1)
        local layout = LAYOUT[words]
        if not layout or size < position + 15 + 8 * words then foreign(key, value) end
        local cell = {unpack_bytes(layout, value, position)}
        position = cell[#cell] -- where it has read to
        if not split_cell(cell, not COUNT_OF[head]) then foreign(key, value) end
        found[i], logs = cell, logs or cell[1] == LOG + WORDS_7
    end
    local alone = logs and count == 1 and log.is_sound(found[1], whole or size)
    if not alone and (logs or position ~= size + 1) then foreign(key, value) end
    if logs then found[1].key, found[1].value = key, value end
    return found, weights.split(found)
end

local function first_word(cell)
    return cell[1] + 65536 * (cell.burst or 0)
end

-- Beside as many limits as fit there is no room for a mark.
local function write_cells(first, last, mark)
    local cell, count = cells[first], last - first + 1
    if mark and count < LIMITS_MOST then count = count + 1 else mark = nil end
    local value = pack(LAYOUT_OF_FIRST[WORDS_OF[cell[1]]], HEAD[count], first_word(cell), unpack(cell, 2))
    for i = first + 1, last do
        cell = cells[i]
        value = value .. pack(LAYOUT[WORDS_OF[cell[1]]], first_word(cell), unpack(cell, 2))
    end
    return mark and value .. pack(LAYOUT[2], first_word(mark), unpack(mark, 2)) or value
end

-- What has a key of its own.
local function has_own()
    for i = 1, #plan do
        if plan[i].kind == LOG then return 'sliding-log' end
        if plan[i].kind == CONCURRENT then return 'concurrent limit' end
    end
end

local function check_keys(keys)
    if #keys == 1 and #plan == 1 then return end
    if plan.levels > 1 and #keys ~= plan.levels then
        fail('WEIRKEYS these are %d levels of tenants: expected a key for each, not %d', plan.levels, #keys)
    end
    if #plan == 1 then
        fail('WEIRKEYS expected one key for this limit, not %d', #keys)
    elseif plan.levels == 1 and #keys ~= 1 and #keys ~= #plan then
        fail('WEIRKEYS these are %d limits: expected one key for all, or %d, not %d', #plan, #plan, #keys)
    elseif #keys == 1 and has_own() then
        fail('WEIRKEYS a %s in a list has a key of its own: expected one key for each limit; for example '
            .. '{user:42}:a {user:42}:b', has_own())
    end
    for i = 2, #keys do
        for j = 1, i - 1 do
            if keys[i] == keys[j] then
                fail('WEIRKEYS expected different keys, one for each limit; for example {user:42}:a {user:42}:b')
            end
        end
    end
end

-- What was at each key, so that what has not changed is not written; and at which keys is something of another type: a
-- log of an older weir, or what was left under another limit.
local values, old

-- A state of weir's under another limit makes room, as it does everywhere.
local function read_slots(i, key)
    local cell = concurrent.read(key, now)
    if cell then return {cell} end
    local value = try('GET', key)
    if type(value) ~= 'string' then foreign(key) end
    read_value(key, value)
    old[i] = true
    return {concurrent.anew(key, now)}
end

-- Of a log as much as most often is needed.  nil: there is nothing.
local function read_key(i, key)
    if plan[i].kind == CONCURRENT then return read_slots(i, key) end
    local is_log, value, whole = plan[i].kind == LOG, nil, nil
    if is_log then value = try('GETRANGE', key, 0, LOG_READ - 1) else value = try('GET', key) end
    if not value or value == '' and is_log and not call('GET', key) then return nil end
    if type(value) == 'table' then
        old[i] = true
        if concurrent.clock_of(key) then return nil end
        value = log.read_old(key, plan[i], HEAD[1]) or foreign(key)
    elseif is_log and #value == LOG_READ then
        whole = call('STRLEN', key)
    end
    values[i] = value
    local found, mark = read_value(key, value, whole)
    if mark and i <= LEVELS_MOST then
        marks = marks or {}
        marks[i] = mark
    end
    return found
end

-- The limits whose cells are at a key.
local function part_at(keys, i)
    if #keys == 1 then return 1, #plan end
    if plan.levels == 1 then return i, i end
    local first, last
    for j = 1, #plan do
        if plan.level[j] == i then first, last = first or j, j end
    end
    return first, last
end

local function is_blank(first, last)
    for i = first, last do
        if plan[i].kind ~= NONE and plan[i].kind ~= UNLIMITED then return false end
    end
    return true
end

local function read_keys(keys)
    values, old, marks = {}, {}, nil
    if #keys == 1 then
        cells = read_key(1, keys[1]) or {}
        return
    end
    cells = {}
    for i = 1, #keys do
        local found, first, last = read_key(i, keys[i]), part_at(keys, i)
        for j = first, last do cells[j] = found and found[j - first + 1] end
    end
end

-- What is known of each limit, brought to this plan and this time; true: a clock that was set back moved something,
-- which has to be written even with a refusal, or it would be moved again and again.
local function open(keys)
    local moved = false
    check_keys(keys)
    read_keys(keys)
    if marks then weights.bring() end
    for i = 1, #plan do
        local rule, cell = plan[i], cells[i]
        if not cell or KIND_OF[cell[1]] ~= rule.kind then
            cell = {rule.kind, 0}
            cells[i] = cell
        end
        moved = rule.does.adapt(rule, cell, now) or moved
    end
    return moved
end

-- A set may be long, so the engine frees it beside.
local function set(i, key, value, until_ms)
    if old[i] then call('UNLINK', key) end
    call('SET', key, value, 'PXAT', until_ms)
end

local function head_of(cell)
    return pack(LAYOUT_OF_FIRST[WORDS_OF[cell[1]]], HEAD[1], unpack(cell, 1, 2 + WORDS_OF[cell[1]]))
end

local function write_log(i, key, cell, until_ms, alone)
    local head = head_of(cell)
    local in_place, changed = cell.value and cell[1] ~= LOG, cell.pushes or cell.gives or old[i]
    if not alone and not changed and head == sub(values[i] or '', 1, in_place and #head or nil) then return end
    if not in_place then return set(i, key, head, until_ms) end
    if old[i] then set(i, key, cell.value, until_ms) end
    log.write(key, cell, head_of)
    call('PEXPIREAT', key, until_ms)
end

local function write_slots(i, key, cell, until_ms)
    if not (cell.added or cell.freed or cell.ahead ~= cell.was) then return end
    if old[i] then call('UNLINK', key) end
    if cell.added or cell.ahead ~= cell.was then cell.id = concurrent.write(plan[i], cell, now, until_ms) end
    if cell.freed then concurrent.free(cell, cell.settled, cell.freed) end
end

local function write(keys, idle)
    local until_ms = format('%d', divide_up(idle, 1000))
    for i = 1, #keys do
        local kind, mark = plan[i].kind, marks and marks[i]
        if kind == CONCURRENT then
            write_slots(i, keys[i], cells[i], until_ms)
        elseif kind == LOG then
            write_log(i, keys[i], cells[i], until_ms, #keys == 1)
        elseif #keys == 1 then
            set(1, keys[1], write_cells(1, #plan, mark), until_ms)
        elseif mark or not is_blank(part_at(keys, i)) then
            local first, last = part_at(keys, i)
            local value = write_cells(first, last, mark)
            if value ~= values[i] then set(i, keys[i], value, until_ms) end
        end
    end
end

-- ---- the functions ------------------------------------------------------------------------------------------------

local s, us -- the second of the call before, most often that of this one, too: as it was told, and in us
local function engine_time() local t = call('TIME') if t[1] ~= s then s, us = t[1], t[1] * 1e6 end return us + t[2] end

-- Texts that were read; begun anew when there are too many.
local plans, plans_read = {}, 0

local function plan_of(limits)
    if not limits then fail('WEIRARG expected a limit behind the keys; for example 10/s') end
    local found = plans[limits]
    if found then return found end
    if #limits > TEXT_MOST then
        fail('WEIRLIMIT the text of a limit has at most %d bytes; for example 10/s', TEXT_MOST)
    end
    found = read_text(limits)
    for i = 1, #found do
        found[i].does = KINDS[found[i].kind]
        if found[i].kind == CONCURRENT then found.holder = i end
        found.many_units = found.many_units or found.unit and found[i].unit and found.unit ~= found[i].unit
        found.unit = found.unit or found[i].unit
    end
    if #found == 1 and found[1].kind == GCRA then
        found.gcra = found[1]
        found.gcra.head = pack(HEAD_OF_GCRA, HEAD[1], GCRA + WORDS_2 + 65536 * found.gcra.fits, found.gcra.permit)
    end
    if plans_read == PLANS_MOST then plans, plans_read = {}, 0 end
    plans[limits], plans_read = found, plans_read + 1
    return found
end

local function shown(argument)
    return argument and gsub(sub(argument, 1, 40), '[^ -~]', '?') or 'nothing'
end

local SMALL = {} -- numbers of up to three digits that were read

local function whole_number(argument)
    local small = SMALL[argument or '']
    if small then return small end
    local value = argument and find(argument, '^%d+$') and tonumber(argument)
    if not value or value > MOST then return nil end
    if #argument <= 3 then SMALL[argument] = value end
    return value
end

local function number_of(argument, what)
    return whole_number(argument) or fail('WEIRARG expected %s, a whole number up to 2^52, not "%s"; for example '
        .. '1000000', what, shown(argument))
end

local function is_option(word) return upper(word) == 'WAIT' or upper(word) == 'PEEK' end

local ALIAS = {request = 'requests', byte = 'bytes', B = 'bytes'}

-- limits count requests and tokens: write tokens 812
local function refuse_units(words, number)
    local known, names, parts = {}, {}, {}
    for i = 1, #plan do
        local unit = plan[i].unit
        if unit and not known[unit] then
            known[unit], names[#names + 1] = true, unit
            if unit ~= 'requests' or not plan.many_units then parts[#parts + 1] = format('%s %.0f', unit, number) end
        end
    end
    fail('WEIRARG %slimits count %s: write %s', words, concat(names, ' and '), concat(parts, ' '))
end

-- A unit and its number, then the next one; requests that are not named are one, all others are named.
local function read_units(args, from, into)
    for i = 1, #plan do into[i] = nil end
    while whole_number(args[from + 1]) and not is_option(args[from]) do
        local unit, number, found = ALIAS[args[from]] or args[from], whole_number(args[from + 1]), false
        for i = 1, #plan do
            if not plan[i].unit then
                found = true
            elseif plan[i].unit == unit then
                if into[i] then refuse_units(format('"%s" has two costs; ', shown(args[from])), into[i]) end
                found, into[i] = true, number
            end
        end
        if not found then refuse_units(format('"%s" is no unit here; ', shown(args[from])), number) end
        from = from + 2
    end
    for i = 1, #plan do
        if not into[i] and plan[i].unit and plan[i].unit ~= 'requests' then
            refuse_units(format('"%s" has no cost; ', plan[i].unit), 1)
        end
        into[i] = into[i] or 1
    end
    return from
end

-- One cost for all, or one for each limit, or by unit; returns where the next argument is.
local function read_costs(args, from, into)
    local count, value = 0, whole_number(args[from])
    if not value and whole_number(args[from + 1]) and not is_option(args[from]) then
        return read_units(args, from, into)
    end
    while value do
        count = count + 1
        into[count] = value
        value = whole_number(args[from + count])
    end
    if count == 0 then return from end
    if count ~= 1 and count ~= #plan then
        if #plan == 1 then fail('WEIRARG this limit takes one cost, not %d; for example 2', count) end
        fail('WEIRARG these are %d limits: expected one cost for all, or %d, not %d', #plan, #plan, count)
    end
    if count < #plan and plan.many_units then refuse_units('', into[1]) end
    for i = count + 1, #plan do into[i] = into[1] end
    return from + count
end

local function check_end(args, from)
    if args[from] then fail('WEIRARG expected nothing more, not "%s"', shown(args[from])) end
end

-- PEEK, WAIT us.
local function read_options(args, from)
    local peek = false
    wait = 0
    while args[from] do
        local option = upper(args[from])
        if option == 'PEEK' then
            peek = true
        elseif option == 'WAIT' then
            if #plan ~= 1 then
                fail('WEIRARG WAIT is for one limit; these are %d: ask without it, and again after the retry that is '
                    .. 'told', #plan)
            end
            from = from + 1
            wait = number_of(args[from], 'us behind WAIT')
        else
            fail('WEIRARG expected costs, PEEK, or WAIT us, not "%s"; for example 1 PEEK', shown(args[from]))
        end
        from = from + 1
    end
    return peek
end

-- A delay is rounded up: a call that waits starts within a us, and has begun to drain before its end.
local function answer(delay, late, tightest, remaining)
    local taken = now + max(delay - 1, 0)
    return {'allow', tightest - 1, remaining, delay, 0, full_of(tightest), taken, late}
end

-- Of several schedules the slowest is the one that the call can be on.
local function late_of(delay)
    local late = NEVER
    for i = 1, #plan do
        local rule = plan[i]
        if rule.does.late then late = min(late, rule.does.late(rule, cells[i], now, cost[i], delay)) end
    end
    return late == NEVER and 0 or late
end

-- Of a text with a concurrent limit the id of the slots taken is told too; of tenants, to how many guarantees the call
-- was not charged.
local function with_id(given, passes)
    if plan.holder then given[9] = cells[plan.holder].id or false end
    if plan.levels == 1 then return given end
    given[9] = 0
    for i = 1, #plan do given[9] = given[9] + (passes and is_lent(i) and 1 or 0) end
    return given
end

-- The question that is asked most: one gcra, one key, at most a cost; and nothing at the key, or what this left there.
-- Nothing more is made for it than what is stored and the answer.  nil: it is not that question, or may never pass.
-- No number here comes near 2^53, so % is exact, and a + -a % b is a, up to the next multiple of b.
local function take_gcra(keys, args)
    local rule, key, permits = plan.gcra, keys[1], SMALL[args[2] or '1'] or whole_number(args[2] or '1')
    if keys[2] or args[3] or not key or not permits or permits > rule.burst then return nil end
    local value, time = try('GET', key), engine_time()
    local per, permit, level, room = rule.per, rule.permit, 0, rule.top
    if value then
        if #value ~= GCRA_SIZE then return nil end
        local head, seen, was = unpack_bytes(GCRA_LAYOUT, value)
        if head ~= rule.head or seen > time or was > room then return nil end
        level = was - (time - seen) * per
        if level < 0 then level = 0 end
    end
    local ticks = permits * permit
    room = room - level
    if ticks > room then
        local late = ticks - room
        local retry_us, full_us = (late + -late % per) / per, (level + -level % per) / per
        return {'deny', 0, (room - room % permit) / permit, 0, retry_us, full_us, time, 0}
    end
    room, level = room - ticks, level + ticks
    local full = (level + -level % per) / per
    if ticks ~= 0 then
        local idle = time + full
        call('SET', key, pack(GCRA_LAYOUT, rule.head, time, level), 'PXAT', format('%d', (idle + -idle % 1000) / 1000))
    end
    return {'allow', 0, (room - room % permit) / permit, 0, 0, full, time, 0}
end

local function take(keys, args)
    plan = plans[args[1] or ''] or plan_of(args[1])
    local at_once = plan.gcra and take_gcra(keys, args)
    if at_once then return at_once end
    for i = 1, #plan do cost[i] = 1 end
    by = 1
    local peek = read_options(args, read_costs(args, 2, cost))
    now = engine_time()
    local moved = open(keys)
    local delay = ask_all()
    if retry ~= 0 then
        local changed = not peek and (count_refusals() or moved)
        local given = refusal()
        if changed then write(keys, idle_at()) end
        return with_id(given)
    end
    local late = late_of(delay)
    if peek then return with_id(answer(delay, late, least_left(true)), true) end
    local changed = commit('take') or moved
    if plan.weight then weights.count() end
    local given = answer(delay, late, least_left())
    if changed then write(keys, idle_at()) end
    return with_id(given, true)
end

local function charge(keys, args)
    plan = plan_of(args[1])
    local from = read_costs(args, 2, cost)
    if from == 2 then
        fail('WEIRARG expected a cost, a whole number up to 2^52, not "%s"; for example 2', shown(args[2]))
    end
    check_end(args, from)
    now = engine_time()
    local changed, never = open(keys), nil
    by, longest = 1, 1
    for i = #plan, 1, -1 do
        if plan[i].kind == NONE then never = i end
    end
    if not never then changed = commit('charge') or changed end
    local given = answer(0, 0, least_left())
    if never then given[1], given[2], given[6] = 'never', never - 1, 0 end
    if changed then write(keys, idle_at()) end
    return with_id(given)
end

-- "taken:cost" or "taken:cost:cost...": of a take, its seventh answer and its costs; of a text with a concurrent limit
-- the id in the place of the first.
local function read_receipt(receipt)
    local numbers = {}
    for digits in gmatch(receipt or '', '[^:]+') do
        numbers[#numbers + 1] = find(digits, '^%d+$') and tonumber(digits)
    end
    if not find(receipt or '', '^%d[%d:]*%d$') or find(receipt, '::', 1, true) or #numbers < 2 then
        fail('WEIRARG expected a receipt, when it was to start and its cost, not "%s"; for example 1763836800123456:2',
            shown(receipt))
    elseif #numbers ~= #plan + 1 then
        fail('WEIRARG the receipt "%s" is of %d limits, and these are %d', shown(receipt), #numbers - 1, #plan)
    end
    numbers.id = match(receipt, '^0*(%d+)')
    if plan.holder then numbers[1] = tonumber(sub(numbers.id, 1, -4)) or 0 end
    for i = 1, #numbers do numbers[i] = min(numbers[i], MOST) end
    return numbers
end

local function settle(keys, args)
    plan = plan_of(args[1])
    local receipt, actual = read_receipt(args[2]), {}
    local from = read_costs(args, 3, actual)
    if from == 3 then
        fail('WEIRARG expected what it cost, a whole number up to 2^52, not "%s"; for example 1', shown(args[3]))
    end
    check_end(args, from)
    now = engine_time()
    local changed = open(keys)
    if plan.holder then cells[plan.holder].settled = receipt.id end
    for i = 1, #plan do
        local rule, was, is = plan[i], receipt[i + 1], actual[i]
        local does = rule.does
        local lent = was == 0 and is_guaranteed(i) -- of what was not charged nothing is settled
        if does ~= plain and was ~= is and not lent then
            changed = true
            if is > was then
                does.charge(rule, cells[i], now, is - was)
            elseif receipt[1] <= now or does == concurrent then -- slots are known by their id
                does.give(rule, cells[i], now, receipt[1], was, was - is)
            end
        end
    end
    if changed then write(keys, idle_at()) end
    return 1
end

-- The slots that are asked about, and their id.
local function begin_hold(keys, args)
    plan = plan_of(args[1])
    local id = match(args[2] or '', '^0*(%d+)$')
    if not plan.holder then
        fail("WEIRLIMIT only slots of a concurrent limit are held; for example '20 concurrent lease=30s'")
    elseif not id or #id > 20 then
        fail('WEIRARG expected the id of a take, the last value of its reply, not "%s"; for example '
            .. '1763836800123456042', shown(args[2]))
    end
    check_end(args, 3)
    now = engine_time()
    open(keys)
    return cells[plan.holder], id
end

local function renew(keys, args)
    local cell, id = begin_hold(keys, args)
    return concurrent.renew(plan[plan.holder], cell, id)
end

local function release(keys, args)
    local cell, id = begin_hold(keys, args)
    return min(concurrent.free(cell, id, SLOTS_MOST), 1)
end

local function forget(keys)
    return call('DEL', unpack(keys))
end

-- ---- leases: permits that a node takes along ----

local function begin_lease(keys, args)
    plan = plan_of(args[1])
    if #plan ~= 1 or plan[1].kind ~= GCRA or plan[1].burst < LEASE_SHARE * LEASE_LEAST then
        fail('WEIRLIMIT a lease needs one gcra limit with a burst of 16 or more; for example ' ..
            '10000/s burst=20000')
    end
    return plan[1]
end

-- id permits unused, or nothing.
local function read_returned(args, from)
    local id = number_of(args[from], 'the id of the lease')
    local permits = number_of(args[from + 1], 'how many permits it had')
    local unused = number_of(args[from + 2], 'how many of them were not spent')
    check_end(args, from + 3)
    if unused > permits then
        fail('WEIRARG expected at most %.0f permits that were not spent, not %.0f', permits, unused)
    end
    return {id, permits, unused}
end

-- true: it was still known.
local function take_back(rule, cell, returned)
    local id, permits, unused = returned[1], returned[2], returned[3]
    local at_word = id == cell[5] and 8 or 9
    if cell[1] ~= GCRA + WORDS_7 or (at_word == 9 and id + 1 ~= cell[5]) then return false end
    permits = min(permits, cell[at_word])
    cell[4] = max(cell[4] - times(min(unused, permits), rule.permit), 0)
    cell[at_word] = cell[at_word] - permits
    return permits ~= 0
end

-- The longer lifetime holds while anything is out; with nothing out an epoch of the new one begins.
local function note_lifetime(cell, lifetime)
    if cell[1] ~= GCRA + WORDS_7 then
        cell[1], cell[5], cell[6], cell[7], cell[8], cell[9] = GCRA + WORDS_7, now, now + lifetime, lifetime, 0, 0
    elseif leased(cell) ~= 0 then
        cell[7] = max(cell[7], lifetime)
    elseif cell[7] ~= lifetime then
        cell[5], cell[6], cell[7] = cell[5] + 1, now + lifetime, lifetime
    end
end

-- At most an eighth of what is there, and two at least, or none.
local function grant(rule, cell, want, lifetime)
    local permits = min(want, divide(gcra.room(rule, cell, now), LEASE_SHARE))
    if permits < LEASE_LEAST then return 0, 0 end
    note_lifetime(cell, lifetime)
    cell[4], cell[8] = cell[4] + permits * rule.permit, cell[8] + permits
    return permits, cell[5]
end

local function lease(keys, args)
    local rule = begin_lease(keys, args)
    local want, lifetime = number_of(args[2], 'how many permits'), number_of(args[3], 'a lifetime in us')
    if lifetime == 0 or lifetime > LIFETIME_MOST then
        fail('WEIRARG expected a lifetime of 1 to %.0f us; for example 1000000', LIFETIME_MOST)
    end
    local returned = args[4] and read_returned(args, 4)
    now = engine_time()
    local changed = open(keys)
    if returned then
        changed = take_back(rule, cells[1], returned) or changed
        gcra.adapt(rule, cells[1], now) -- as the next call would
    end
    local permits, id = grant(rule, cells[1], want, lifetime)
    if changed or permits > 0 then write(keys, idle_at()) end
    return {permits, id, gcra.room(rule, cells[1], now), time_to(rule, cells[1], rule.top - rule.permit)}
end

local function give_lease_back(keys, args)
    local rule = begin_lease(keys, args)
    local returned = read_returned(args, 2)
    now = engine_time()
    local moved = open(keys)
    local known = take_back(rule, cells[1], returned)
    if moved or known then write(keys, idle_at()) end
    return known and 1 or 0
end

local function version()
    return VERSION .. ' format ' .. FORMAT .. ' gcra hybrid leaky fixed-window sliding-window sliding-log concurrent'
end

local VERBS = {
    weir_take = take, weir_charge = charge, weir_settle = settle, weir_forget = forget, weir_lease = lease,
    weir_renew = renew, weir_release = release, weir_return = give_lease_back, weir_version = version,
}

-- A mistake is an error reply with nothing but its words.
local function answering(verb)
    return function(keys, args)
        if not call then
            fetch()
            prepare_layouts()
        end
        local done, given = pcall(verb, keys, args)
        if done then return given end
        return redis.error_reply(given)
    end
end

if redis.register_function then
    local function register(name, flags)
        redis.register_function{function_name = name, flags = flags, callback = answering(VERBS[name])}
    end
    register('weir_take', {})
    register('weir_charge', {})
    register('weir_settle', {})
    register('weir_renew', {})
    register('weir_release', {'allow-oom'})
    register('weir_forget', {'allow-oom'})
    register('weir_lease', {})
    register('weir_return', {})
    register('weir_version', {'no-writes'})
else
    local name = table.remove(ARGV, 1)
    if not VERBS[name] then
        return redis.error_reply('WEIRARG expected the name of a function first; for example weir_take')
    end
    return answering(VERBS[name])(KEYS, ARGV)
end
