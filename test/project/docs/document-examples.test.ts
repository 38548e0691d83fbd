import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { loadYaml } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { parseConfig } from '../../../src/config/config.ts'
import { notebookStatus } from '../../../src/schemas/notebooks.ts'
import { PYTHON } from '../../interop/harness/environment.ts'
import { LONG } from '../../support/effort.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { commandsOf, documentsWithExamples, type FencedBlock } from './examples/fenced-blocks.ts'
import { hasShape, parsedJson } from './examples/json-shape.ts'
import { CURL, type Reader, startReader } from './examples/reader.ts'
import { type RanStep, runSession, type Step } from './examples/shell-session.ts'

const REPOSITORY = join(import.meta.dirname, '../../..')
const DOCUMENTS = documentsWithExamples()
const MINUTES = 60_000

/** Beginnings of commands that nothing here can run, and why. Their syntax and the names in them are checked. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm start': 'serves until it is stopped; this test starts the same service',
  'npm test': 'is the suite that this test is in',
  'npm run build:binary': 'takes minutes; test/interop/delivery/binary.test.ts runs it',
  './dist/lockhouse serve': 'needs the executable; test/interop/delivery/binary.test.ts runs it',
  'lockhouse serve': 'serves until it is stopped; test/server/start.test.ts starts and stops a service',
  'lockhouse events --follow': 'runs until it is interrupted; test/cli/api-commands.test.ts follows events',
  'lockhouse pipelines watch': 'runs until it is interrupted; test/cli/api-commands.test.ts watches pipelines',
  docker: 'needs a container engine',
  helm: 'needs a cluster; test/interop/delivery/chart.test.ts renders the chart',
  kubectl: 'needs a cluster; test/cluster uses one',
  'cp -r deploy/site': 'prepares files for a cluster',
  'spark-submit': 'needs Spark; test/interop/spark-connect starts it',
  useradd: 'changes the users of this machine',
  'install -': 'writes into the system of this machine; test/project/deploy/systemd.test.ts checks the unit',
  systemctl: 'needs systemd',
}

/** Beginnings of commands that run, but that a service without other people's services refuses with this message. */
const REFUSED: readonly (readonly [start: string, message: RegExp])[] = [
  ['lockhouse compact demo.events --engine spark', /needs a Spark Connect server/],
  ['lockhouse expire demo.events --retain-last 5', /add --yes: nobody can be asked here/],
  ['lockhouse rollback demo.events 3051729675574597004', /snapshot 3051729675574597004/i],
  ['lockhouse rollback demo.events --to', /to_timestamp is before all known states of the table/],
  ['lockhouse login', /sign-in at an identity provider is not configured/],
  ['lockhouse notebook', /notebooks need a Kubernetes cluster; none is configured/],
  ['lockhouse alerts test failures', /the test was not delivered/],
  ['lockhouse tables register sales.orders', /NO_SUCH_NAMESPACE/],
  ['lockhouse operations cancel', /has ended: it is succeeded/],
  ['lockhouse definitions rollback', /no other version has run in qa before/],
  ['lockhouse approvals override-window', /is already approved/],
  ['lockhouse definitions override-window', /does not wait for a window/],
  ['lockhouse definitions retire', /is in qa and cannot retire/],
  ['curl -H "$AUTH" -X POST $API/notebook/start', /notebooks need a Kubernetes cluster; none is configured/],
  ['curl -X PUT … db.internal', /catalog database did not respond/],
  ['curl -X PUT … catalog.internal', /catalog did not respond/],
  ['curl -X PUT … myaccount.dfs.core.windows.net', /LAKE_AZURE_KEY/],
  ['curl -X PUT … gs://my-lake', /LAKE_GCS_TOKEN/],
  ['curl -X PUT … minio.internal', /s3\.endpoint|object store|minio\.internal/],
]

/** Leaves one snapshot, so that the files of others are in quarantine. */
const EXPIRE_ALL = 'lockhouse expire demo.events --retain-last 1 --older-than 2999-01-01T00:00:00Z --yes'

/** What another example or a person did before a command. */
const BEFORE: Readonly<Record<string, string>> = {
  'curl -X POST -H "$AUTH" $API/agent/actions':
    'curl -H "$AUTH" -H "$JSON" -d \'{"prompt":"Compact demo.events"}\' $API/agent/chat',
  'curl -H "$AUTH" "$API/quarantine':
    'curl -H "$AUTH" -H "$JSON" -d \'{"table":"demo.events","retain_last":1,"older_than":"2999-01-01T00:00:00Z"}\' $API/expire',
  'lockhouse catalogs add': `printf '{"catalog_type":"sql","catalog_name":"archive","warehouse":"%s/archive","uri":"sqlite:///%s/archive.db","create":true}' "$PWD" "$PWD" > archive.json`,
  'lockhouse quarantine --table': EXPIRE_ALL,
  'lockhouse quarantine purge': `${EXPIRE_ALL} && lockhouse quarantine --state held`,
  'lockhouse token revoke': 'lockhouse token list | grep laptop >> "$PRINTED"',
}

/** Beginnings of answers that nothing here gives, because they need a cluster, with their schemas. */
const NOT_ANSWERED: Readonly<Record<string, z.ZodObject>> = { '{"status":"pending","user_id"': notebookStatus }

/** Texts that are no output. */
const DRAWINGS = ['development ──promote──▶ qa']

/** The entry that a command, without line breaks, begins with; `…` in an entry stands for any text. */
function entryFor(entries: readonly string[], command: string): string | undefined {
  return entries.find((start) => {
    const [first = '', ...others] = start.split('…').map((part) => part.trim())
    return command.startsWith(first) && others.every((part) => command.includes(part))
  })
}

/** What the guide sets first; examples of other documents use it. */
const OPENING = commandsOf(DOCUMENTS.find(([name]) => name === 'docs/guide.md')?.[1][0]?.text ?? '')

interface PlannedStep extends Step {
  /** What is wrong with its end, if anything is. */
  readonly problem: (ran: RanStep, earlier: readonly RanStep[]) => string | undefined
}

const succeeds: PlannedStep['problem'] = ({ status }) => (status === 0 ? undefined : `ended with ${status}`)

if (CURL === '') process.stderr.write('\nSKIPPED: the examples of the documents need curl\n')

describe.skipIf(CURL === '')('examples in documents', { ...LONG, timeout: 10 * MINUTES }, () => {
  let lake: TestService
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lockhouse-documents-'))
    lake = await startTestService({ events: { commits: 2, filesPerCommit: 5, rowsPerFile: 10 } })
  })
  afterAll(async () => {
    await lake.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it.each(DOCUMENTS)('the examples of %s run as they are written', async (document, blocks) => {
    const home = join(folder, document.replaceAll('/', '-'))
    mkdirSync(home)
    const reader = await startReader(home, lake.folder)
    try {
      const steps = [
        ...OPENING.flatMap((command) => shellSteps(command, 0, reader)),
        ...blocks.flatMap((block) => stepsOf(block, reader)),
      ]
      const ran = await runSession(steps, reader)
      const problems = steps.flatMap((step, at) => {
        const one = ran[at]
        const problem = one === undefined ? 'did not run' : step.problem(one, ran.slice(0, at))
        return problem === undefined
          ? []
          : [`${document}:${step.line} ${problem}: ${step.command}\n${one?.output ?? ''}`]
      })
      expect(problems.join('\n\n')).toBe('')
    } finally {
      await reader.service.close()
    }
  })

  it.each(DOCUMENTS)('the examples of %s stand between fences', (_, blocks, text) => {
    const prose = blocks.reduce((rest, block) => rest.replace(block.text, ''), text)
    expect(prose.match(/(?<=\n\n) {4}(?:curl|lockhouse|npm|\$|\{).*/g) ?? []).toEqual([])
  })
})

it('the lists of exceptions name only examples that exist', () => {
  const entries = [NOT_RUN, Object.fromEntries(REFUSED), BEFORE, NOT_ANSWERED].flatMap(Object.keys)
  const examples = DOCUMENTS.flatMap(([, blocks]) => blocks.flatMap(({ text }) => [text, ...commandsOf(text)]))
  const plain = examples.map((example) => example.replaceAll(/\s+/g, ' '))
  const stale = [...entries, ...DRAWINGS].filter((entry) => !plain.some((example) => entryFor([entry], example)))
  expect(stale).toEqual([])
})

/** The steps that an example needs. Throws for a kind of example without a rule. */
function stepsOf(block: FencedBlock, reader: Reader): readonly PlannedStep[] {
  const { language, line } = block
  const text = reader.local(block.text)
  const step = (command: string, problem = succeeds): PlannedStep => ({ line, command, problem })
  switch (language) {
    case 'sh':
      return commandsOf(block.text).flatMap((command, at) => shellSteps(command, line + at + 1, reader))
    case 'console':
      return [step(text.split('\n')[0]?.slice('$ '.length) ?? '', printsLines(text.trimEnd().split('\n').slice(1)))]
    case 'text':
      if (entryFor(DRAWINGS, text) !== undefined) return []
      writeFileSync(join(reader.folder, 'service.log'), reader.service.output())
      return [
        step(
          'cat service.log',
          printsLines(
            block.text
              .replace(':3000', `:${new URL(reader.service.url).port}`)
              .trimEnd()
              .split('\n'),
          ),
        ),
      ]
    case 'json':
      return jsonSteps({ ...block, text }, reader).map((command) => step(command.command, command.problem ?? succeeds))
    case 'js':
      return scriptSteps(text, line, reader).map((command) => step(command))
    case 'python': {
      writeFileSync(join(reader.folder, `${line}.py`), text)
      return [
        step(
          PYTHON === undefined ? `! command -v python3 || python3 -m py_compile ${line}.py` : `${PYTHON} ${line}.py`,
        ),
      ]
    }
    case 'env':
      return [step('true', () => (parseConfig(variablesIn(text)) === undefined ? 'sets nothing' : undefined))]
    case 'yaml': {
      const name = /`([\w/-]+\.yaml)`/.exec(block.introduction)?.[1] ?? `${line}.yaml`
      mkdirSync(dirname(join(reader.folder, name)), { recursive: true })
      writeFileSync(join(reader.folder, name), text)
      return []
    }
    case 'properties': {
      const uris = [...text.matchAll(/^\S+\.uri +(\S+)$/gm)].map(([, uri = '']) => uri)
      return uris.map((uri) => step(`curl -H "$AUTH" ${uri}/v1/config`))
    }
    default:
      throw new Error(`line ${line}: there is no rule for examples in "${language}"`)
  }
}

function shellSteps(command: string, line: number, reader: Reader): readonly PlannedStep[] {
  const plain = command.replaceAll(/\s+/g, ' ')
  const step = (text: string, problem = succeeds): PlannedStep => ({ line, command: reader.local(text), problem })
  if (entryFor(Object.keys(NOT_RUN), plain) !== undefined) {
    return [step('true', () => nameProblem(command))]
  }
  const before = entryFor(Object.keys(BEFORE), plain)
  const refused = entryFor(
    REFUSED.map(([start]) => start),
    plain,
  )
  const message = REFUSED.find(([start]) => start === refused)?.[1]
  const steps = before === undefined ? [] : [step(BEFORE[before] ?? '')]
  if (message === undefined) steps.push(step(command))
  else {
    steps.push(
      step(command, ({ status, output }) =>
        status !== 0 && message.test(output) ? undefined : `is not refused with ${String(message)}`,
      ),
    )
  }
  // the next examples are about the demo again
  if (/^curl -X PUT .*\/config -d/.test(plain))
    steps.push(step('curl -X PUT -H "$AUTH" -H "$JSON" $API/config -d @own.json'))
  return steps
}

/** What is wrong with the syntax of a command, or with what it names in this repository. */
function nameProblem(command: string): string | undefined {
  const words = command.replaceAll(/<[^>]*>/g, 'PLACEHOLDER').split(/[\s=]+/)
  const parsed = spawnSync('bash', ['-n', '-c', words.join(' ')], { encoding: 'utf8' })
  if (parsed.status !== 0) return parsed.stderr
  const { scripts } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { scripts: object }
  const script = /^npm (?:run )?(\S+)/.exec(command)?.[1]
  if (script !== undefined && !Object.hasOwn(scripts, script)) return `there is no script ${script}`
  const paths = words.filter((word) => word.startsWith('deploy/') && !word.includes('PLACEHOLDER'))
  const missing = paths.find((path) => !existsSync(join(REPOSITORY, path)))
  if (missing !== undefined) return `there is no ${missing}`
  const values: unknown = loadYaml(readFileSync(join(REPOSITORY, 'deploy/chart/values.yaml'), 'utf8'))
  const settings = [...command.matchAll(/--set '?([\w.]+)=/g)].map(([, name = '']) => name)
  const unknown = settings.find((name) => valueAt(values, name.split('.')) === undefined)
  return unknown === undefined ? undefined : `the chart has no value ${unknown}`
}

function valueAt(value: unknown, [name, ...others]: readonly string[]): unknown {
  if (name === undefined) return value
  return typeof value === 'object' && value !== null ? valueAt(Reflect.get(value, name), others) : undefined
}

const variablesIn = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(text.split('\n').flatMap((line) => [/^(\w+)=(.*)$/.exec(line)?.slice(1) ?? []]))

/** Each line was printed; `…` in it stands for any text. */
function printsLines(lines: readonly string[]): PlannedStep['problem'] {
  const missing = (output: string): string | undefined =>
    lines.find((line) => {
      const parts = line.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      return !new RegExp(parts.join('.+')).test(output)
    })
  return ({ output }) => (missing(output) === undefined ? undefined : `did not print "${missing(output) ?? ''}"`)
}

interface JsonStep {
  readonly command: string
  readonly problem?: PlannedStep['problem']
}

/** JSON is the body of the request or the file that the text above names, or what an earlier example printed. */
function jsonSteps({ text, line, introduction }: FencedBlock, { folder, service }: Reader): readonly JsonStep[] {
  const named = /`([\w-]+\.json)`/.exec(introduction)?.[1]
  const file = join(folder, named ?? `${line}.json`)
  writeFileSync(file, text)
  if (named !== undefined) return []
  const [, method, path] = /`(POST|PUT) (\/api\/[^`]+)`/.exec(introduction) ?? []
  if (method !== undefined) {
    return [{ command: `curl -X ${method} -H "$AUTH" -H "$JSON" ${service.url}${path ?? ''} -d @${file}` }]
  }
  const example = JSON.parse(text.replaceAll(/,\s*…(?=\s*[\]},])/g, '')) as Record<string, unknown>
  const servers = Object.values((example['mcpServers'] ?? {}) as Record<string, { url: string }>)
  const answer = entryFor(Object.keys(NOT_ANSWERED), text)
  if (answer !== undefined) return [{ command: 'true', problem: () => unlike(NOT_ANSWERED[answer], example) }]
  if (servers.length > 0) return servers.map(({ url }) => ({ command: initialize(url) }))
  const isPrinted: PlannedStep['problem'] = (_, earlier) =>
    earlier.some(({ output }) => hasShape(parsedJson(output), example))
      ? undefined
      : 'was not printed by an earlier example'
  return [{ command: `cat ${file}`, problem: isPrinted }]
}

function unlike(schema: z.ZodObject | undefined, example: Readonly<Record<string, unknown>>): string | undefined {
  return schema?.strict().partial().safeParse(example).error?.message
}

function initialize(url: string): string {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'reader', version: '1' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  return `curl -H "$AUTH" -H "$JSON" -H 'Accept: application/json, text/event-stream' -d '${body}' ${url}`
}

/** A script that runs from the sources of the package; what it serves is asked once. */
function scriptSteps(text: string, line: number, { folder, metadataLocation }: Reader): readonly string[] {
  const source = text
    .replaceAll("'lockhouse'", `'${join(REPOSITORY, 'src/server/create-lockhouse.ts')}'`)
    .replaceAll("'lockhouse/iceberg'", `'${join(REPOSITORY, 'src/iceberg/index.ts')}'`)
    .replaceAll("'./data'", `'./data-${line}'`)
    .replace('Bun.serve', 'const server = Bun.serve')
  const isServed = source.includes('Bun.serve')
  const end = isServed
    ? "const { ok } = await fetch(new URL('/lake/api/health/live', server.url))\nawait lake.close()\nprocess.exit(ok ? 0 : 1)"
    : source.includes('lake')
      ? 'await lake.close()\nprocess.exit(0)'
      : 'process.exit(files.length > 0 ? 0 : 1)'
  const given = `const metadataLocation = ${JSON.stringify(metadataLocation.replace('file://', ''))}\n`
  writeFileSync(join(folder, `${line}.mjs`), `${given}${source}\n${end}\n`)
  return [`bun ${line}.mjs`]
}
