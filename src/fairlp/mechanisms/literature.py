"""The papers that mechanisms are of, to be cited."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """A paper.

    Attributes
    ----------
    key : str
        Of its BibTeX entry.
    cited_as : str
        What says in the source of a mechanism that it is this paper.
    kind : str
        Of BibTeX: article, inproceedings or misc.
    author, title, venue : str
    year : int or None
        None where the copy at hand has none.
    details : tuple of (str, str)
        More fields of BibTeX.
    doi, url : str
        Empty where there is none, or none that we have seen.
    """

    key: str
    cited_as: str
    kind: str
    author: str
    title: str
    venue: str
    year: int | None
    details: tuple[tuple[str, str], ...] = ()
    doi: str = ""
    url: str = ""

    @property
    def bibtex(self) -> str:
        """The BibTeX entry."""
        where = {"article": "journal", "inproceedings": "booktitle", "misc": "note"}[self.kind]
        fields = [("author", self.author), ("title", f"{{{self.title}}}"), (where, self.venue)]
        fields += [("year", str(self.year))] if self.year else []
        fields += [*self.details, ("doi", self.doi), ("url", self.link)]
        lines = [f"  {name} = {{{value}}}," for name, value in fields if value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    @property
    def link(self) -> str:
        """Where to read about it: its URL, or that of its DOI."""
        return self.url or (f"https://doi.org/{self.doi}" if self.doi else "")

    def __str__(self) -> str:
        return (
            f"{self.author.replace(' and ', ', ')}: {self.title}. "
            f"{self.venue}{f', {self.year}' if self.year else ''}"
        )


_SHENKER = "Scott Shenker and Ion Stoica"
#: In order of the year.
REFERENCES = (
    Reference(
        "eisenberg1959consensus", "Eisenberg and Gale, 1959", "article", "Edmund Eisenberg and David Gale",
        "Consensus of Subjective Probabilities: The Pari-Mutuel Method", "The Annals of Mathematical Statistics", 1959,
        (("volume", "30"), ("number", "1"), ("pages", "165--168")), doi="10.1214/aoms/1177706369",
    ),
    Reference(
        "varian1974equity", "Varian, 1974", "article", "Hal R. Varian", "Equity, Envy, and Efficiency",
        "Journal of Economic Theory", 1974, (("volume", "9"), ("number", "1"), ("pages", "63--91")),
        doi="10.1016/0022-0531(74)90075-1",
    ),
    Reference(
        "mo2000fair", "Mo and Walrand, 2000", "article", "Jeonghoon Mo and Jean Walrand",
        "Fair End-to-End Window-Based Congestion Control", "IEEE/ACM Transactions on Networking", 2000,
        (("volume", "8"), ("number", "5"), ("pages", "556--567")), doi="10.1109/90.879343",
    ),
    Reference(
        "ghodsi2011dominant", "NSDI 2011", "inproceedings",
        f"Ali Ghodsi and Matei Zaharia and Benjamin Hindman and Andy Konwinski and {_SHENKER}",
        "Dominant Resource Fairness: Fair Allocation of Multiple Resource Types",
        "8th USENIX Symposium on Networked Systems Design and Implementation (NSDI 11)", 2011,
        url="https://www.usenix.org/conference/nsdi11/"
        "dominant-resource-fairness-fair-allocation-multiple-resource-types",
    ),
    Reference(
        "parkes2012beyond", "EC 2012", "inproceedings", "David C. Parkes and Ariel D. Procaccia and Nisarg Shah",
        "Beyond Dominant Resource Fairness: Extensions, Limitations, and Indivisibilities",
        "13th ACM Conference on Electronic Commerce (EC '12)", 2012, (("pages", "808--825"),),
        doi="10.1145/2229012.2229075",
    ),
    Reference(
        "dolev2012no", "ITCS 2012", "inproceedings",
        "Danny Dolev and Dror G. Feitelson and Joseph Y. Halpern and Raz Kupferman and Nathan "
        "Linial",
        "No Justified Complaints: On Fair Sharing of Multiple Resources",
        "3rd Innovations in Theoretical Computer Science Conference (ITCS '12)", 2012, (("pages", "68--75"),),
        doi="10.1145/2090236.2090243",
    ),
    Reference(
        "gutman2012fair", "AAMAS 2012", "inproceedings", "Avital Gutman and Noam Nisan",
        "Fair Allocation Without Trade",
        "11th International Conference on Autonomous Agents and Multiagent Systems (AAMAS '12)", 2012,
        (("pages", "719--728"),), url="https://arxiv.org/abs/1204.4286",
    ),
    Reference(
        "bhattacharya2013hierarchical", "SoCC 2013", "inproceedings",
        f"Arka A. Bhattacharya and David Culler and Eric Friedman and Ali Ghodsi and {_SHENKER}",
        "Hierarchical Scheduling for Diverse Datacenter Workloads",
        "4th Annual Symposium on Cloud Computing (SoCC '13)", 2013,
    ),
    Reference(
        "joewong2013multiresource", "Joe-Wong, Sen, Lan and Chiang, 2013", "article",
        "Carlee Joe-Wong and Soumya Sen and Tian Lan and Mung Chiang",
        "Multiresource Allocation: Fairness--Efficiency Tradeoffs in a Unifying Framework",
        "IEEE/ACM Transactions on Networking", 2013,
        (("volume", "21"), ("number", "6"), ("pages", "1785--1798")), doi="10.1109/TNET.2012.2233213",
    ),
    Reference(
        "caragiannis2016unreasonable", "Caragiannis et al., EC 2016", "inproceedings",
        "Ioannis Caragiannis and David Kurokawa and Hervé Moulin and Ariel D. Procaccia and Nisarg "
        "Shah and Junxing Wang",
        "The Unreasonable Fairness of Maximum Nash Welfare",
        "17th ACM Conference on Economics and Computation (EC '16)", 2016, (("pages", "305--322"),),
        doi="10.1145/2940716.2940726",
    ),
    Reference(
        "wang2014dominant", "INFOCOM 2014", "inproceedings", "Wei Wang and Baochun Li and Ben Liang",
        "Dominant Resource Fairness in Cloud Computing Systems with Heterogeneous Servers",
        "IEEE Conference on Computer Communications (INFOCOM)", 2014, url="https://arxiv.org/abs/1308.0083",
    ),
    Reference(
        "friedman2014strategyproof", "EC 2014", "inproceedings",
        "Eric Friedman and Ali Ghodsi and Christos-Alexandros Psomas",
        "Strategyproof Allocation of Discrete Jobs on Multiple Machines",
        "15th ACM Conference on Economics and Computation (EC '14)", 2014, (("pages", "529--546"),),
    ),
    Reference(
        "kash2014no", "JAIR 2014", "article", "Ian Kash and Ariel D. Procaccia and Nisarg Shah",
        "No Agent Left Behind: Dynamic Fair Division of Multiple Resources",
        "Journal of Artificial Intelligence Research", 2014, (("volume", "51"), ("pages", "579--603")),
        doi="10.1613/jair.4405",
    ),
    Reference(
        "wang2016multi", "SC 2016", "inproceedings", "Wei Wang and Baochun Li and Ben Liang and Jun Li",
        "Multi-Resource Fair Sharing for Datacenter Jobs with Placement Constraints",
        "International Conference for High Performance Computing, Networking, Storage and Analysis (SC '16)", 2016,
    ),
    Reference(
        "khamseashari2017per", "ICC 2017", "inproceedings",
        "Jalal Khamse-Ashari and Ioannis Lambadaris and George Kesidis and Bhuvan Urgaonkar and "
        "Yiqiang Zhao",
        "Per-Server Dominant-Share Fairness (PS-DSF): A Multi-Resource Fair Allocation Mechanism "
        "for Heterogeneous "
        "Servers",
        "IEEE International Conference on Communications (ICC)", 2017, url="https://arxiv.org/abs/1611.00404",
    ),
    Reference(
        "li2019note", "Li et al., 2019", "misc", "Weidong Li and Xi Liu and Xiaolu Zhang and Xuejie Zhang",
        "A Note on Dynamic Fair Division of Multiple Resources", "Manuscript, 13 June 2019", 2019,
    ),
    Reference(
        "kueue2024fair", "KEP-1714", "misc", "{The Kueue authors}", "Fair Sharing",
        "Kubernetes SIGs, Kueue enhancement proposal KEP-1714", 2024,
        url="https://github.com/kubernetes-sigs/kueue/tree/main/keps/1714-fair-sharing",
    ),
    Reference(
        "mahajan2020themis", "NSDI 2020", "inproceedings",
        "Kshiteej Mahajan and Arjun Balasubramanian and Arjun Singhvi and Shivaram Venkataraman "
        "and Aditya Akella and Amar Phanishayee and Shuchi Chawla",
        "Themis: Fair and Efficient GPU Cluster Scheduling",
        "17th USENIX Symposium on Networked Systems Design and Implementation (NSDI 20)", 2020,
        url="https://www.usenix.org/conference/nsdi20/presentation/mahajan",
    ),
    Reference(
        "narayanan2020heterogeneity", "OSDI 2020", "inproceedings",
        "Deepak Narayanan and Keshav Santhanam and Fiodar Kazhamiaka and Amar Phanishayee and "
        "Matei Zaharia",
        "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads",
        "14th USENIX Symposium on Operating Systems Design and Implementation (OSDI 20)", 2020,
        url="https://www.usenix.org/conference/osdi20/presentation/narayanan-deepak",
    ),
    Reference(
        "le2020allox", "EuroSys 2020", "inproceedings",
        "Tan N. Le and Xiao Sun and Mosharaf Chowdhury and Zhenhua Liu",
        "AlloX: Compute Allocation in Hybrid Clusters",
        "15th European Conference on Computer Systems (EuroSys '20)", 2020,
        doi="10.1145/3342195.3387547",
    ),
    Reference(
        "zheng2023shockwave", "NSDI 2023", "inproceedings",
        "Pengfei Zheng and Rui Pan and Tarannum Khan and Shivaram Venkataraman and Aditya Akella",
        "Shockwave: Fair and Efficient Cluster Scheduling for Dynamic Adaptation in Machine Learning",
        "20th USENIX Symposium on Networked Systems Design and Implementation (NSDI 23)", 2023,
        url="https://www.usenix.org/conference/nsdi23/presentation/zheng",
    ),
    Reference(
        "vuppalapati2023karma", "OSDI 2023", "inproceedings",
        "Midhul Vuppalapati and Giannis Fikioris and Rachit Agarwal and Asaf Cidon and Anurag "
        "Khandelwal and "
        "Éva Tardos", "Karma: Resource Allocation for Dynamic Demands",
        "17th USENIX Symposium on Operating Systems Design and Implementation (OSDI 23)", 2023,
        url="https://www.usenix.org/conference/osdi23/presentation/vuppalapati",
    ),
    Reference(
        "mo2024optimal", "Middleware 2024", "inproceedings",
        "Zizhao Mo and Huanle Xu and Wing Cheong Lau",
        "Optimal Resource Efficiency with Fairness in Heterogeneous GPU Clusters",
        "25th International Middleware Conference (Middleware '24)", 2024,
        doi="10.1145/3652892.3654792",
    ),
    Reference(
        "metin_precomputed", "Metin, Precomputed", "misc", "Serdar Metin",
        "Precomputed Dominant Resource Fairness", "Manuscript", None,
    ),
)  # fmt: skip


def cited(source: str) -> tuple[Reference, ...]:
    """Return the papers that the source of a mechanism names, in the order in which it does."""
    references = [reference for reference in REFERENCES if reference.cited_as in source]
    return tuple(sorted(references, key=lambda reference: source.index(reference.cited_as)))
