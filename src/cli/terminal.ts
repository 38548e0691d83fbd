import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import type { Terminal } from './command.ts'

const NOTE_END = /[\r\n]$|^\r/

/** The terminal or files of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process
  const isLive = stderr.isTTY
  return {
    out: (text) => void stdout.write(`${text}\n`),
    write: async (text) => {
      if (!stdout.write(text)) await once(stdout, 'drain')
    },
    note: (text) => void stderr.write(NOTE_END.test(text) ? text : `${text}\n`),
    isLive,
    width: stdout.isTTY ? stdout.columns : undefined,
    ask: stdin.isTTY && isLive ? ask : undefined,
    nowMs: () => performance.now(),
  }
}

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}
