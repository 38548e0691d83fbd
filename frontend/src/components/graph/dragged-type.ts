/** Data type of a palette entry that is being dragged; its value is the node type. */
export const DRAGGED_TYPE = 'application/x-lockhouse-node-type'
