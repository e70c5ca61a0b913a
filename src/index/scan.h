/*
 * scan.h: bitmap scans.
 */
#ifndef PBF_INDEX_SCAN_H
#define PBF_INDEX_SCAN_H

#include "access/relscan.h"
#include "nodes/tidbitmap.h"

extern IndexScanDesc pbfidx_beginscan(Relation index, int nkeys, int norderbys);
extern void pbfidx_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern int64 pbfidx_getbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void pbfidx_endscan(IndexScanDesc scan);

#endif
