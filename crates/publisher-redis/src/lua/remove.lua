-- Removes a job from a queue, and a notification with it, as a worker does that takes one.
-- KEYS: the queue, its list of notifications. ARGV: the job.
-- Answers how many were removed.
local removed = redis.call('LREM', KEYS[1], 1, ARGV[1])
if removed > 0 then
  redis.pcall('LPOP', KEYS[2])
end
return removed
