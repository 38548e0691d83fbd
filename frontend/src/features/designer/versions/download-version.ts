import type { VersionSummary } from '../../../api/types.ts'
import { saveFile } from '../../../components/text/save-file.ts'
import { fetchExport } from '../api.ts'
import { exportFileName } from '../import-document.ts'

/** Downloads a version as a document that can be imported. */
export async function downloadVersion({
  id,
  definition_id: definitionId,
  version,
}: Pick<VersionSummary, 'id' | 'definition_id' | 'version'>): Promise<void> {
  const document_ = await fetchExport(definitionId, id)
  saveFile(exportFileName(document_.name, version), 'application/json', `${JSON.stringify(document_, null, 2)}\n`)
}
