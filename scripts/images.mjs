// `npm run images`: takes the pictures of docs/images anew, of the demo lakehouse in a real browser
// (`eval "$(bash scripts/setup/chromium.sh)"` installs one).
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './ensure-installed.mjs'

const images = join(root, 'docs', 'images')
const begun = Date.now()
const run = spawnSync(
  process.execPath,
  [join(root, 'scripts', 'test.mjs'), '--project', 'web', 'test/web/page/pages.test.ts'],
  { cwd: root, stdio: 'inherit', env: { ...process.env, LOCKHOUSE_SCREENSHOTS: images } },
)
const isNew = (statSync(join(images, 'tables-light.png'), { throwIfNoEntry: false })?.mtimeMs ?? 0) >= begun
if (!isNew) console.error('No picture was taken: LOCKHOUSE_CHROMIUM names no browser (scripts/setup/chromium.sh).')
process.exit(isNew ? (run.status ?? 1) : 1)
