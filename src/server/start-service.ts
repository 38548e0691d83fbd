import { parseConfig } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import { detectRuntime } from './detect-runtime.ts'
import type { ServiceBundle } from './open-service.ts'
import { runService } from './run-service.ts'
import { startProblem } from './start-problem.ts'

/** Gives the parts that one executable brings along, for a service with this `LOCKHOUSE_HOME`. */
export type OpenBundle = (home: string) => ServiceBundle

/**
 * Runs the service of this process with the settings of an environment. A start that fails for a reason that the operator
 * can remove ends the process with one line and exit code 1.
 */
export async function startService(env: Env, openBundle?: OpenBundle): Promise<void> {
  try {
    const config = parseConfig(env)
    const bundle = openBundle?.(config.home)
    await runService({ config, env, runtime: await detectRuntime(), ...(bundle === undefined ? {} : { bundle }) })
  } catch (error) {
    const problem = startProblem(error)
    if (problem === undefined) throw error
    console.error(`Lockhouse cannot start: ${problem}`)
    process.exit(1) // what was opened before would keep the process
  }
}
