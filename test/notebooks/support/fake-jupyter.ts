import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A kernel as Jupyter Server lists it. */
export interface FakeKernel {
  readonly id: string
  readonly execution_state: string
  readonly last_activity: string
}

/** How the server responds. */
export type JupyterMood = 'well' | 'hang' | 'error' | 'html' | 'redirect' | 'huge' | 'no-list' | 'not-here'

/** A notebook server with the endpoints that the culler uses, over a real socket. */
export interface FakeJupyter {
  readonly url: string
  kernels: readonly FakeKernel[]
  /** Undefined for a server without terminals. */
  terminals: readonly { readonly name: string; readonly last_activity: string }[] | undefined
  mood: JupyterMood
  /** Path and token of each request. */
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[]
  close(): Promise<void>
}

/** Starts a {@link FakeJupyter}. */
export async function startFakeJupyter(): Promise<FakeJupyter> {
  const server = createServer((request, response) => {
    jupyter.requests.push({ path: request.url ?? '', authorization: request.headers.authorization })
    answer(jupyter, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const jupyter: FakeJupyter = {
    url: `http://127.0.0.1:${port}`,
    kernels: [],
    terminals: [],
    mood: 'well',
    requests: [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return jupyter
}

function answer(jupyter: FakeJupyter, request: IncomingMessage, response: ServerResponse): void {
  const json = { 'Content-Type': 'application/json' }
  const list = request.url?.endsWith('/api/terminals') ? jupyter.terminals : jupyter.kernels
  switch (jupyter.mood) {
    case 'hang':
      return
    case 'error':
      return void response.writeHead(500).end()
    case 'html':
      return void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>Sign in</html>')
    case 'redirect':
      return void response.writeHead(302, { Location: `${jupyter.url}/elsewhere` }).end()
    case 'huge':
      return void response.writeHead(200, json).end(`[${' '.repeat(2 ** 21)}]`)
    case 'no-list':
      return void response.writeHead(200, json).end('{"message": "hello"}')
    case 'not-here':
      return void response.writeHead(404).end()
    default:
      if (list === undefined) response.writeHead(404).end()
      else response.writeHead(200, json).end(JSON.stringify(list))
  }
}
