import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A third-party web site with one page. */
export interface PageServer {
  readonly port: number
  close(): Promise<void>
}

export async function startPageServer(html: string): Promise<PageServer> {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html')
    response.end(html)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
