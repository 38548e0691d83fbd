import { parseConfig } from './config/config.ts'
import { readEnv } from './config/env.ts'
import { detectRuntime } from './server/detect-runtime.ts'
import { runService } from './server/run-service.ts'
import { startProblem } from './server/start-problem.ts'

try {
  const env = readEnv()
  await runService({ config: parseConfig(env), env, runtime: await detectRuntime() })
} catch (error) {
  const problem = startProblem(error)
  if (problem === undefined) throw error
  console.error(`Lockhouse cannot start: ${problem}`)
  process.exit(1) // what was opened before would keep the process
}
