// `npm run build`: builds the web page into frontend/dist; with `--if-needed` only if it is missing or older than its sources.
import { buildFrontend, ensureFrontend } from './build-frontend.mjs'
import { ensureInstalled } from './ensure-installed.mjs'

ensureInstalled()
const built = process.argv.includes('--if-needed') ? ensureFrontend() : buildFrontend()
process.exit(built ? 0 : 1)
