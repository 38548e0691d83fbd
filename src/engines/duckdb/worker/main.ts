import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'

import { isIcebergError } from '../../../iceberg/errors.ts'

import { encodeFrame, FrameReader } from './frames.ts'
import { MAX_REQUEST_BYTES, type WorkerReply, type WorkerRequest } from './messages.ts'
import { answer } from './answer.ts'
import { fromWire, toWire } from './value-codec.ts'

/** Lower than the rest of the service, whose event loop must always get processor time. */
const NICENESS = 10

/** Queries run on other threads, so this thread always notices that its parent has ended. */
function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** On Linux each thread has a priority, which the threads that it starts get; elsewhere the process has one. */
function lowerPriority(): void {
  setPriority(NICENESS)
  for (const thread of threadsOfLinux()) {
    try {
      setPriority(Number(thread), NICENESS)
    } catch {
      // the thread has ended meanwhile
    }
  }
}

/** The ids of the threads of this process; empty on other systems, and where `/proc` is not mounted or not readable. */
function threadsOfLinux(): readonly string[] {
  try {
    return readdirSync('/proc/self/task')
  } catch {
    return []
  }
}

function send(reply: WorkerReply): void {
  process.stdout.write(encodeFrame(toWire(reply)))
}

async function handle(message: unknown): Promise<WorkerReply> {
  try {
    const value = await answer(fromWire(message) as WorkerRequest)
    return { kind: 'done', value }
  } catch (error) {
    if (isIcebergError(error)) return { kind: 'failed', code: error.code, text: error.message }
    return { kind: 'failed', code: 'ENGINE_FAILED', text: error instanceof Error ? error.message : String(error) }
  }
}

const reader = new FrameReader(MAX_REQUEST_BYTES)
process.stdin.on('data', (chunk: Uint8Array) => {
  for (const message of reader.push(chunk)) void handle(message).then(send)
})
for (const event of ['end', 'close', 'error']) process.stdin.on(event, die)
process.stdout.on('error', die)
await import('@duckdb/node-api') // takes longer than most queries
lowerPriority()
send({ kind: 'ready' })
