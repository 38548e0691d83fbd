import { startProxiedService } from './harness/proxied-service.ts'

/** Input from the test: which users have a notebook, and where. */
export interface HouseRequest {
  readonly notebooks: Readonly<Record<string, { readonly baseUrl: string; readonly token: string }>>
  readonly env?: Readonly<Record<string, string>>
  /** Default: a free port. */
  readonly port?: number
}

/** Output to the test. */
export interface HouseAnswer {
  readonly port: number
  readonly visitors: Readonly<Record<string, { readonly token: string; readonly cookie: string }>>
}

// A separate process for a runtime other than the test's; it exits when its standard input closes, and prints its
// log as one line.
const request = JSON.parse(process.argv[2] ?? '{}') as HouseRequest
const log: string[] = []
const { env, port } = request
const house = await startProxiedService({ log, ...(env ? { env } : {}), ...(port ? { port } : {}) })
const visitors: Record<string, { token: string; cookie: string }> = {}
for (const [user, target] of Object.entries(request.notebooks)) {
  house.targets.byUser.set(user, { ...target, ready: true })
  const { token, cookie } = await house.visitor(user)
  visitors[user] = { token, cookie }
}
const answer: HouseAnswer = { port: house.port, visitors }
process.stdout.write(`${JSON.stringify(answer)}\n`)
process.stdin.on('data', () => {
  const lines = log.splice(0)
  process.stdout.write(`${JSON.stringify({ log: lines })}\n`)
})
process.stdin.on('end', () => void house.close().then(() => process.exit(0)))
