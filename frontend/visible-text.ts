import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const RUNTIME = fileURLToPath(new URL('src/components/text/visible/jsx-runtime.ts', import.meta.url))

/**
 * Makes all elements through our runtime, those of packages too, so that no place can forget to show a name safely. The
 * development server uses React's own, because it bundles packages apart.
 */
export function visibleText(): Plugin {
  return {
    name: 'lockhouse-visible-text',
    apply: 'build',
    enforce: 'pre',
    resolveId: {
      filter: { id: /^react\/jsx-runtime$/ },
      handler: (_source, importer) => (importer === RUNTIME ? null : RUNTIME),
    },
  }
}
