import type { VersionSummary } from '../../../api/types.ts'
import { fetchExport } from '../api.ts'
import { exportFileName } from '../import-document.ts'

/** Downloads a version as a document that can be imported. */
export async function downloadVersion({
  id,
  definition_id: definitionId,
  version,
}: Pick<VersionSummary, 'id' | 'definition_id' | 'version'>): Promise<void> {
  const document_ = await fetchExport(definitionId, id)
  const address = URL.createObjectURL(
    new Blob([`${JSON.stringify(document_, null, 2)}\n`], { type: 'application/json' }),
  )
  const link = document.createElement('a')
  link.href = address
  link.download = exportFileName(document_.name, version)
  link.click()
  URL.revokeObjectURL(address)
}
