import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Role } from '../../../src/domain/roles.ts'
import type { TestService } from '../../support/service.ts'

/** The two protocol versions with which clients open a conversation. */
export const ERAS = ['2025-11-25', '2026-07-28'] as const

export type Era = (typeof ERAS)[number]

/** Connects a client of the official package to a service. The caller closes it. */
export async function connectMcp(host: string, token: string, era: Era): Promise<Client> {
  const mode = era === '2025-11-25' ? ('legacy' as const) : { pin: era }
  const client = new Client({ name: 'tests', version: '1.0.0' }, { versionNegotiation: { mode } })
  const headers = { Authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://${host}/mcp`), { requestInit: { headers } }))
  return client
}

/** The outcome of a tool call over the protocol. */
export interface McpResult {
  readonly isError: boolean
  /** The result as the agent sees it. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of answers without types
  readonly result: any
  /** Other text items. */
  readonly notes: readonly string[]
}

/** Calls a tool. */
export async function callMcp(client: Client, name: string, args: Record<string, unknown> = {}): Promise<McpResult> {
  const { content, isError } = await client.callTool({ name, arguments: args })
  const [result = 'null', ...notes] = content.map((part) => (part.type === 'text' ? part.text : ''))
  return { isError: isError ?? false, result: JSON.parse(result), notes }
}

/** Creates a token for a user. */
export async function tokenFor(service: TestService, user: string, role: Role): Promise<string> {
  const { body } = await service.post('/api/auth/tokens', { user, role, name: 'mcp' })
  return body.token
}
