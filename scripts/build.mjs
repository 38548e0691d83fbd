// `npm run build`: the web page, into frontend/dist; with `--if-needed` only when it is older than what it is made of.
import { buildFrontend, ensureFrontend } from './build-frontend.mjs'
import { ensureInstalled } from './ensure-installed.mjs'

ensureInstalled()
const built = process.argv.includes('--if-needed') ? ensureFrontend() : buildFrontend()
process.exit(built ? 0 : 1)
