-- Appends entries to a stream in their order and stops at the first that is refused.
-- KEYS: the stream. ARGV: its greatest length or 0, then for each entry how many arguments it has, and those.
-- Answers how many were appended, and the error if one was refused.
local trim = ARGV[1] ~= '0'
local done, at = 0, 2
while ARGV[at] do
  local last = at + tonumber(ARGV[at])
  local answer
  if trim then
    answer = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', unpack(ARGV, at + 1, last))
  else
    answer = redis.pcall('XADD', KEYS[1], '*', unpack(ARGV, at + 1, last))
  end
  if type(answer) == 'table' and answer.err then
    return {done, answer.err}
  end
  done = done + 1
  at = last + 1
end
return {done}
