// `npm run build`: the web page, into frontend/dist.
import { buildFrontend } from './build-frontend.mjs'
import { ensureInstalled } from './ensure-installed.mjs'

ensureInstalled()
process.exit(buildFrontend() ? 0 : 1)
