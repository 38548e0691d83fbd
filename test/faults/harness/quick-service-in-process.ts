import { parseConfig } from '../../../src/config/config.ts'
import { readEnv } from '../../../src/config/env.ts'
import { detectRuntime } from '../../../src/server/detect-runtime.ts'
import { runService } from '../../../src/server/run-service.ts'
import { slowDownStore } from './slow-store.ts'

/*
 * The service as `src/main.ts` runs it, with shorter waits between attempts, so that a rollout takes a second and not ten.
 * `FAULTS_LEASE_MS` is how long a lease is valid, of pipelines, rollouts and tables; default: 10 s. `FAULTS_SLOW_STORE`: see
 * `slow-store.ts`.
 */
slowDownStore(process.env['FAULTS_SLOW_STORE'])
const env = readEnv()
const leaseMs = Number(process.env['FAULTS_LEASE_MS'] ?? 10_000)
await runService({
  config: parseConfig(env),
  env,
  runtime: await detectRuntime(),
  overrides: {
    streaming: { backoff: { firstMs: 100, maxMs: 400 }, lease: { ms: leaseMs, tickMs: 250 } },
    tableLocks: { leaseMs, renewMs: 250, pollMs: 50 },
    automation: { index: { pollMs: 100 }, policyTickMs: 200 },
    deployments: { pollMs: 20, lease: { ms: leaseMs, tickMs: 100 } },
  },
})
