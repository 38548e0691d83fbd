import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { precompress } from './precompress.ts'
import { visibleText } from './visible-text.ts'

const SERVICE = process.env['LOCKHOUSE_URL'] ?? 'http://localhost:3000'

/** Built into `frontend/dist`; in development on port 5173, which forwards the service's paths (docs/api.md#web-page). */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [visibleText(), react(), precompress()],
  worker: { format: 'es' },
  // Scripts find each other by their own address, so that the page works below any path; `src/server/page-below.ts` writes
  // that path into index.html.
  experimental: {
    renderBuiltUrl: (name, { hostType }) => (hostType === 'html' ? `/${name}` : { relative: true }),
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0, // the content security policy allows no data: address but for images
    chunkSizeWarningLimit: 400,
    reportCompressedSize: false,
    rolldownOptions: {
      checks: { pluginTimings: false, bundlerTimings: false }, // on a busy machine they would speak up at `npm start`
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'framework',
              test: /node_modules[\\/]((react|react-dom|scheduler)[\\/]|@tanstack[\\/](?!react-table|table-core|react-virtual|virtual-core))|components[\\/]text[\\/]visible[\\/]|vite[\\/]preload-helper/,
            },
            { name: 'ui', test: /node_modules[\\/](@mantine|@floating-ui)[\\/]/, minShareCount: 3 },
            {
              name: 'shared',
              test: /frontend[\\/]src[\\/](api|components(?![\\/](form|table))|layout|strings[\\/]everywhere)/,
              minShareCount: 3,
            },
            // Apart from the rest, for pages without a table do not load it.
            {
              name: 'table',
              test: /@tanstack[\\/](react-table|table-core|react-virtual|virtual-core)[\\/]|components[\\/]table[\\/]/,
            },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    strictPort: true,
    proxy: {
      '/api': { target: SERVICE, ws: true },
      '/notebook/': { target: SERVICE, ws: true },
    },
  },
})
