/** What a tool answers, as the agent sees it. */
export interface ToolAnswer {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
  readonly result: any
}

/** Calls a tool at `/mcp` with one POST; `send` is a fetch to the service. */
export async function callTool(
  send: (path: string, init: RequestInit) => Promise<Response> | Response,
  token: string,
  call: { readonly name: string; readonly arguments: object },
): Promise<ToolAnswer> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const response = await send('/mcp', {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': call.name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...call, _meta: meta } }),
  })
  const text = await response.text()
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text
  const answer = JSON.parse(json)
  return { status: response.status, result: JSON.parse(answer.result?.content?.[0]?.text ?? 'null') ?? answer }
}
