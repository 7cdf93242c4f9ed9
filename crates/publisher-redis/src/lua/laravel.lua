-- Pushes jobs and as many notifications, as Laravel does it for one job.
-- KEYS: the queue, its list of notifications. ARGV: the jobs.
-- Answers how many were pushed, and the error if they were refused.
local answer = redis.pcall('RPUSH', KEYS[1], unpack(ARGV))
if type(answer) == 'table' and answer.err then
  return {0, answer.err}
end
-- Without a notification a worker finds the jobs a little later: that is no reason to push them twice.
local notifications = {}
for i = 1, #ARGV do
  notifications[i] = '1'
end
redis.pcall('RPUSH', KEYS[2], unpack(notifications))
return {#ARGV}
