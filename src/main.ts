import { ConfigError } from './config/config-error.ts'
import { parseConfig } from './config/config.ts'
import { readEnv } from './config/env.ts'
import { detectRuntime } from './runtime/runtime.ts'
import { runService } from './runtime/run-service.ts'

try {
  const env = readEnv()
  await runService({ config: parseConfig(env), env, runtime: await detectRuntime() })
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  console.error(`Lockhouse cannot start: ${error.message}`)
  process.exitCode = 2
}
