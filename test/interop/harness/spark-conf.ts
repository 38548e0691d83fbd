import { connect } from 'node:http2'
import { randomUUID } from 'node:crypto'

/** An answer over gRPC: its status (`0` is OK, `16` UNAUTHENTICATED), and its body as text. */
export interface GrpcAnswer {
  readonly status: string
  readonly body: string
}

/** Asks a Spark Connect server on loopback for one of its properties, with the bytes of `ConfigRequest`. */
export async function readSparkConf(
  { port, token }: { readonly port: number; readonly token: string },
  key: string,
): Promise<GrpcAnswer> {
  const request = Buffer.concat([
    field(1, Buffer.from(randomUUID())), // session_id
    field(2, field(1, Buffer.from('test'))), // user_context.user_id
    field(3, field(2, field(1, Buffer.from(key)))), // operation.get.keys
  ])
  const frame = Buffer.alloc(5)
  frame.writeUInt32BE(request.length, 1)
  const session = connect(`http://127.0.0.1:${port}`)
  try {
    return await new Promise((resolve, reject) => {
      session.once('error', reject)
      const stream = session.request({
        ':method': 'POST',
        ':path': '/spark.connect.SparkConnectService/Config',
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: `Bearer ${token}`,
      })
      let status = ''
      const chunks: Buffer[] = []
      const keepStatus = (headers: { 'grpc-status'?: string }) => (status = headers['grpc-status'] ?? status)
      stream.on('response', keepStatus).on('trailers', keepStatus)
      stream.on('data', (chunk: Buffer) => chunks.push(chunk)).once('error', reject)
      stream.once('close', () => resolve({ status, body: Buffer.concat(chunks).toString('latin1') }))
      stream.end(Buffer.concat([frame, request]))
    })
  } finally {
    session.destroy()
  }
}

/** A length-delimited field of a protobuf message of under 128 bytes. */
function field(number: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([number * 8 + 2, content.length]), content])
}
