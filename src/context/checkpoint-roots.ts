import { LocalFileIO } from '../iceberg/io/local.ts'
import { realFolder } from '../iceberg/io/real-folder.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import { isCheckpointFolder } from '../streaming/checkpoint/checkpoint.ts'
import type { CheckpointRoots } from '../streaming/checkpoint/location.ts'
import { isTableFolder } from '../streaming/table-folder.ts'

/** The folders that may contain checkpoints: `LOCKHOUSE_HOME`, and the warehouse of the catalog of the moment. */
export function checkpointRoots(
  { scratch }: { readonly scratch: string },
  catalog: Pick<CatalogService, 'current'>,
): () => CheckpointRoots {
  const home = scratch.slice(0, scratch.lastIndexOf('/'))
  const io = new LocalFileIO() // locations are checked when a pipeline is started
  const isTable = (folder: string) => isTableFolder(io, folder)
  const isCheckpoint = (folder: string) => isCheckpointFolder(io, folder)
  return () => ({ home, warehouse: catalog.current().warehouse, realFolder, isTable, isCheckpoint })
}
