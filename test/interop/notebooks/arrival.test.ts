import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NAMESPACE } from '../../support/kubernetes-api/fake-kubernetes.ts'
import { startTestCluster, type TestCluster } from '../../support/kubernetes-api/test-cluster.ts'
import { type ServedService, startServedService } from '../../support/served.ts'
import { PYTHON, pyicebergAvailable } from '../harness/environment.ts'

const available = pyicebergAvailable('the first notebook')

/** Runs the cells of a notebook in order, as a kernel would, and prints the value of each cell's last line. */
const RUN_CELLS = `
import ast, json, os, sys
space = {}
away = sys.argv[2] if len(sys.argv) > 2 else None
cells = [cell for cell in json.load(open(sys.argv[1]))["cells"] if cell["cell_type"] == "code"]
if away:
    from pyiceberg.table import StaticTable
    read = StaticTable.from_metadata
    def from_metadata(location):
        os.rename(away, away + "-away")
        return read(location)
    StaticTable.from_metadata = staticmethod(from_metadata)
for cell in cells:
    tree = ast.parse(cell["source"])
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    if last is not None:
        print("OUT", repr(eval(compile(last, "cell", "eval"), space)))
print("ROWS", space["rows"].num_rows if space["rows"] is not None else None)
`

describe.skipIf(!available)('the first notebook of a new user', () => {
  let cluster: TestCluster
  let served: ServedService
  let folder: string
  let environment: Record<string, string>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-arrival-'))
    cluster = await startTestCluster()
    served = await startServedService({
      events: { commits: 3, filesPerCommit: 1, rowsPerFile: 20 },
      env: { ...cluster.env, NOTEBOOK_LOCKHOUSE_URL: 'http://replaced.test' },
    })
    const { service, host } = served
    const { body: made } = await service.post('/api/auth/tokens', { user: 'ana', role: 'DataEngineer', name: 'test' })
    const { body } = await service.post('/api/notebook/start', {}, { token: made.token })
    environment = await arrive(`notebook-ana-${body.session_id}`, `http://${host}`)
  })
  afterAll(async () => {
    await served?.stop(false)
    await cluster?.close()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  /**
   * Does the work of the kubelet with the resources of the service: files of the secret and the config map, and the
   * variables.
   */
  async function arrive(part: string, apiUrl: string): Promise<Record<string, string>> {
    const lake = cluster.api.store.get('secrets', NAMESPACE, `${part}-lake`)
    await writeFile(join(folder, 'token'), Buffer.from(lake?.['data'].token, 'base64'))
    const map = cluster.api.store.get('configmaps', NAMESPACE, part)
    await writeFile(join(folder, 'start.ipynb'), map?.['data']['start-here.ipynb'])
    await writeFile(join(folder, 'run.py'), RUN_CELLS)
    const env: { name: string; value?: string }[] = cluster.api.pod('notebook-ana')?.['spec'].containers[0].env
    const literal = env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))
    const given: Record<string, string> = Object.fromEntries(literal)
    expect(given['LAKE_TOKEN_FILE']).toBe('/var/run/lockhouse/token')
    return { ...given, LAKE_API_URL: apiUrl, LAKE_TOKEN_FILE: join(folder, 'token') }
  }

  /** Not `spawnSync`: the service that answers the process runs in this process. */
  async function run(...more: string[]): Promise<string> {
    const child = spawn(PYTHON ?? '', [join(folder, 'run.py'), join(folder, 'start.ipynb'), ...more], {
      env: { PATH: process.env['PATH'], HOME: folder, ...environment },
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()))
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect(code, output).toBe(0)
    return output
  }

  it('is a valid notebook', () => {
    const check = 'import json, sys; n = json.load(open(sys.argv[1])); assert n["nbformat"] == 4 and n["cells"]'
    expect(spawnSync(PYTHON ?? '', ['-c', check, join(folder, 'start.ipynb')]).status).toBe(0)
  })

  it('lists the tables through the service, reports their health and reads rows with PyIceberg', async () => {
    const output = await run()
    expect(output).toContain("OUT ['demo.events']")
    expect(output).toContain('demo.events has 60 rows')
    expect(output).toContain('ROWS 10')
  })

  it('reports what is missing where the files cannot be read', async () => {
    const warehouse = join(served.service.folder, 'home', 'warehouse')
    try {
      const output = await run(warehouse)
      expect(output).toContain('This notebook cannot read the files of the warehouse')
      expect(output).toContain('NOTEBOOK_WAREHOUSE_CLAIM')
      expect(output).toContain('ROWS None')
    } finally {
      await rename(`${warehouse}-away`, warehouse)
    }
  })
})
